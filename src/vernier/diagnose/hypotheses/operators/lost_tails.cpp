// B42: a kernel sums tile by tile, and does not reach the rest that is no whole tile, or meets it twice; or
// it misses one tile, or meets one element of several. The same is proposed of Softmax and of searches for
// the largest.
#include <numeric>

#include "vernier/diagnose/hypotheses/operators/reductions.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 42;

using Places = std::vector<int64_t>;

Places first_places(int64_t count) {
  Places places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

Places without(int64_t length, int64_t begin, int64_t end) {
  Places places = first_places(begin);
  for (int64_t i = end; i < length; ++i) places.push_back(i);
  return places;
}

Places with_twice(int64_t length, int64_t begin, int64_t end) {
  Places places = first_places(length);
  for (int64_t i = begin; i < end; ++i) places.push_back(i);
  return places;
}

// Where the last whole tile ends, for tiles of usual sizes; the longest first.
std::set<int64_t> ends_of_tiles(int64_t length) {
  std::set<int64_t> ends;
  for (int64_t tile = 2; tile <= 256; tile *= 2) {
    const int64_t end = length - length % tile;
    if (end > 0 && end < length) ends.insert(end);
  }
  return ends;
}

using Propose = std::function<void(std::string what, const Places& places)>;

// Proposes that only every so many elements are met, as where a step is counted twice.
void propose_steps(int64_t length, const Propose& propose) {
  for (const int64_t step : {2, 4, 8}) {
    for (const int64_t first : {0, 1}) {
      if (first + step >= length || (first == 1 && step > 2)) continue;
      Places places;
      for (int64_t i = first; i < length; i += step) places.push_back(i);
      propose(fmt::format("it meets one of {} elements that it reduces, from element {} on", step, first),
              places);
    }
  }
}

void propose_ends(int64_t length, const Propose& propose) {
  for (const int64_t end : ends_of_tiles(length)) {
    propose(fmt::format("it does not reach the last {} of {} elements that it reduces", length - end, length),
            first_places(end));
    propose(fmt::format("the last {} of {} elements that it reduces count twice", length - end, length),
            with_twice(length, end, length));
  }
}

// Proposes tails of rows that have few blocks each.
void propose_blocks(int64_t length, const Propose& propose) {
  constexpr int64_t kMostBlocks = 16, kSmallest = 4;
  for (int64_t tile = kSmallest; tile < length; tile *= 2) {
    if (length > kMostBlocks * tile) continue;
    for (int64_t begin = 0; begin < length; begin += tile) {
      const int64_t end = std::min(begin + tile, length);
      const std::string which = fmt::format("elements {} to {} of those that it reduces", begin, end - 1);
      propose(fmt::format("it misses {}", which), without(length, begin, end));
      propose(fmt::format("{} count twice", which), with_twice(length, begin, end));
    }
  }
}

void propose_reduction(const Variations& variations, const ReducedIndex& reduction,
                       std::vector<Proposal>& proposals) {
  const Member& member = variations.member();
  const auto with_places = [&member, reduction](const Places& places, double factor) {
    Tensors inputs = member.inputs();
    for (const auto& [operand, axis] : reduction.axes) inputs[operand] = taken(inputs[operand], axis, places);
    Tensors results = member.with_inputs(std::move(inputs));
    if (factor != 1) results[0] = mapped(results[0], [factor](double value) { return factor * value; });
    return results;
  };
  const Propose propose = [&](std::string what, const Places& places) {
    const double factor = static_cast<double>(places.size()) / static_cast<double>(reduction.length);
    if (reduction.divides)
      variations.add(what + ", and divides by the count of all",
                     [with_places, places, factor] { return with_places(places, factor); });
    variations.add(std::move(what), [with_places, places] { return with_places(places, 1); });
  };
  propose_ends(reduction.length, propose);
  constexpr int64_t kMostWork = 1 << 24;
  if (reduction.length > kMostWork / std::max<int64_t>(1, member.out().size())) return;
  const size_t cheap = proposals.size();
  propose_steps(reduction.length, propose);
  propose_blocks(reduction.length, propose);
  for (size_t i = cheap; i < proposals.size(); ++i) proposals[i].is_costly = true;
}

// The products of all channels and taps of a window, in either order, as one sum.
void propose_taps(const Variations& variations) {
  const Member& member = variations.member();
  const Dims& dims = member.in(1).dims();
  const int64_t channels = dims[1], length = member.in(1).size() / std::max<int64_t>(1, dims[0]),
                taps = length / std::max<int64_t>(1, channels);
  if (taps < 2) return;
  for (const int64_t end : ends_of_tiles(length)) {
    for (const bool by_tap : {false, true}) {
      variations.add_operand(fmt::format("it does not reach the last {} of {} products of a window, {}",
                                         length - end, length, by_tap ? "tap by tap" : "channel by channel"),
                             1, [=](const Tensor& weights) {
                               auto values = weights.to_doubles();
                               for (size_t i = 0; i < values.size(); ++i) {
                                 const int64_t at = static_cast<int64_t>(i) % length;
                                 if ((by_tap ? at % taps * channels + at / taps : at) >= end) values[i] = 0;
                               }
                               return Tensor::from_doubles(weights.type(), weights.dims(), values);
                             });
    }
  }
}

// Every element is divided by a sum that lacks some: for Softmax the sum of the others.
void propose_softmax(const Variations& variations) {
  const Member& member = variations.member();
  const size_t axis = axis_of(ops::softmax_axis(member.node()), member.in(0));
  const int64_t length = member.in(0).dims()[axis];
  const bool logarithm = member.is("LogSoftmax");
  propose_ends(length, [&](std::string what, const Places& places) {
    variations.add(
        std::move(what) + ", in the sum that it divides by", [&member, axis, places, length, logarithm] {
          // Probabilities divided by what the places that are summed have together.
          const auto right = member.out().to_doubles();
          Dims dims = member.in(0).dims();
          int64_t inner = 1;
          for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
          std::vector<double> values = right;
          const int64_t rows = member.in(0).size() / length;
          for (int64_t row = 0; row < rows; ++row) {
            const auto at = [&](int64_t place) {
              return static_cast<size_t>((row / inner * length + place) * inner + row % inner);
            };
            double sum = 0;
            for (const int64_t place : places)
              sum += logarithm ? std::exp(right[at(place)]) : right[at(place)];
            for (int64_t place = 0; place < length; ++place)
              values[at(place)] = logarithm ? right[at(place)] - std::log(sum) : right[at(place)] / sum;
          }
          Tensors results = member.outputs();
          results[0] = Tensor::from_doubles(results[0].type(), results[0].dims(), values);
          return results;
        });
  });
}

// The mean of images, places in their order in memory.
void propose_global_pool(const Variations& variations) {
  const Member& member = variations.member();
  const Dims& dims = member.in(0).dims();
  if (dims.size() < 3) return;
  const int64_t length = member.in(0).size() / std::max<int64_t>(1, dims[0] * dims[1]);
  propose_ends(length, [&](const std::string& what, const Places& places) {
    const double factor = static_cast<double>(places.size()) / static_cast<double>(length);
    for (const double times : {1.0, factor}) {
      variations.add(what + (times == 1 ? "" : ", and divides by the count of all"),
                     [&member, length, places, times] {
                       const Tensor flat = member.in(0).reshaped({member.in(0).size() / length, length});
                       const auto values = taken(flat, 1, places).to_doubles();
                       auto means = member.out().to_doubles();
                       for (size_t i = 0; i < means.size(); ++i) {
                         const auto begin = values.begin() + static_cast<ptrdiff_t>(i * places.size());
                         means[i] = times * std::accumulate(begin, begin + std::ssize(places), 0.0) /
                                    static_cast<double>(places.size());
                       }
                       return Tensors{Tensor::from_doubles(member.out().type(), member.out().dims(), means)};
                     });
    }
  });
}

// A running sum that begins anew with every tile.
void propose_restarts(const Variations& variations) {
  const Member& member = variations.member();
  const size_t axis = axis_of(member.in(1).to_ints().at(0), member.in(0));
  const int64_t length = member.in(0).dims()[axis];
  for (int64_t tile = 2; tile < length; tile *= 2) {
    variations.add(fmt::format("it begins anew after every {} elements", tile),
                   [&member, axis, length, tile] {
                     auto values = member.out().to_doubles();
                     int64_t inner = 1;
                     for (size_t i = axis + 1; i < member.in(0).dims().size(); ++i)
                       inner *= member.in(0).dims()[i];
                     for (int64_t begin = 0; begin < length; begin += tile) {
                       Places places;
                       for (int64_t i = begin; i < std::min(begin + tile, length); ++i) places.push_back(i);
                       const Tensor part = taken(member.in(0), axis, places);
                       const auto sums = member.with_input(0, part).at(0).to_doubles();
                       for (size_t i = 0; i < sums.size(); ++i) {
                         const auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(places.size());
                         const int64_t place = begin + at / inner % count, outer = at / inner / count;
                         values[static_cast<size_t>((outer * length + place) * inner + at % inner)] = sums[i];
                       }
                     }
                     return Tensors{Tensor::from_doubles(member.out().type(), member.out().dims(), values)};
                   });
  }
}

}  // namespace

void propose_lost_tails(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                        std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("Softmax") || member.is("LogSoftmax")) {
    if (!ops::softmax_flattens(member.node())) propose_softmax(variations);
    return;
  }
  if (member.is("GlobalAveragePool")) return propose_global_pool(variations);
  if (member.is("CumSum") && member.has(1)) return propose_restarts(variations);
  if (member.is("Conv")) propose_taps(variations);
  for (const ReducedIndex& reduction : reductions_of(member)) {
    if (reduction.length > 1) propose_reduction(variations, reduction, proposals);
  }
}

}  // namespace vernier
