// B47: some output channels of a product have other weights: those of another channel, multiples of their
// own, or none. B31: all of them are the same multiple.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/products/products.h"
#include "vernier/diagnose/hypotheses/rows.h"

namespace vernier {

namespace {

// Which channels was read off what was made; what leaves a part of a result unwritten looks alike.
constexpr double kReadOff = 0.08;

// Holds what the filters of a convolution, or the columns of a matrix, make.
class Channels {
 public:
  explicit Channels(const Member& product) {
    const Dims& dims = product.out().dims();
    const size_t axis = product.op().find("Conv") != std::string::npos ? 1 : dims.size() - 1;
    for (size_t i = 0; i < dims.size(); ++i)
      (i < axis ? outer_ : i == axis ? count_ : inner_) *= static_cast<size_t>(dims[i]);
  }

  size_t count() const { return count_; }
  size_t size() const { return outer_ * inner_; }  // elements of each
  size_t place(size_t channel, size_t element) const {
    return (element / inner_ * count_ + channel) * inner_ + element % inner_;
  }

 private:
  size_t outer_ = 1, count_ = 1, inner_ = 1;
};

// Holds what the engine made of the product, alone or at the end of a group that keeps its sizes, and what is
// right.
struct Seen {
  std::vector<double> right, made;
};

std::optional<Seen> seen(const Member& product, const FlaggedNode& flagged) {
  if (const Tensor* made = made_in_place(product, 0, flagged))
    return Seen{product.out().to_doubles(), made->to_doubles()};
  if (stored_output(product, 0, flagged) || flagged.made.size() != 1) return std::nullopt;
  const Tensor &made = flagged.made[0], &right = flagged.expected[0].value;
  if (!made.is_defined() || made.dims() != product.out().dims() || right.dims() != made.dims() ||
      !is_float(made.type()))
    return std::nullopt;
  return Seen{right.to_doubles(), made.to_doubles()};
}

bool is_constant(const Channels& channels, size_t channel, const std::vector<double>& values) {
  for (size_t i = 1; i < channels.size(); ++i) {
    if (values[channels.place(channel, i)] != values[channels.place(channel, 0)]) return false;
  }
  return true;
}

// By channel: whether it is the same number everywhere, as without weights, and should not be.
std::vector<bool> channels_without_weights(const Channels& channels, const Seen& seen) {
  std::vector<bool> lost(channels.count(), false);
  for (size_t channel = 0; channel < lost.size(); ++channel)
    lost[channel] = is_constant(channels, channel, seen.made) && !is_constant(channels, channel, seen.right);
  return lost;
}

// The channels as rows of a part of their elements, which is enough to tell them apart.
Rows some_of(const Channels& channels, const Seen& seen) {
  constexpr double kMostWork = 1e8;
  const auto count = static_cast<double>(channels.count());
  const auto most = std::max<size_t>(1, static_cast<size_t>(kMostWork / (count * count)));
  const size_t step = (channels.size() + most - 1) / most;
  Rows rows{{}, {}, channels.count(), 0};
  for (size_t channel = 0; channel < rows.count; ++channel) {
    for (size_t i = 0; i < channels.size(); i += step) {
      rows.right.push_back(seen.right[channels.place(channel, i)]);
      rows.made.push_back(seen.made[channels.place(channel, i)]);
    }
  }
  rows.size = rows.right.size() / rows.count;
  return rows;
}

// The result of the product with each channel taken from that place of `from`.
Tensors with_channels(const Channels& channels, const Tensor& result, const std::vector<double>& from,
                      const std::vector<size_t>& order, const std::vector<bool>& which) {
  auto values = result.to_doubles();
  for (size_t channel = 0; channel < order.size(); ++channel) {
    for (size_t i = 0; which[channel] && i < channels.size(); ++i)
      values[channels.place(channel, i)] = from[channels.place(order[channel], i)];
  }
  return {Tensor::from_doubles(result.type(), result.dims(), values)};
}

// Finds the weights of each channel by what was made of them, where nothing hides the sums.
class OtherWeights {
 public:
  // `base` is what is made without weights.
  OtherWeights(const Channels& channels, std::vector<double> right, std::vector<double> made,
               std::vector<double> base)
      : channels_(channels), right_(std::move(right)), made_(std::move(made)), base_(std::move(base)) {
    for (size_t channel = 0; channel < channels.count(); ++channel) set(channel);
  }

  bool is_any() const { return !wrong_.empty() && explained_ > 0; }
  bool is_all() const { return wrong_.size() == channels_.count(); }
  // The factor of all channels that are wrong, if it is the same.
  std::optional<double> factor() const {
    constexpr double kSame = 1e-3;
    for (const double each : factors_) {
      if (std::abs(each - factors_[0]) > kSame * (1 + std::abs(factors_[0]))) return std::nullopt;
    }
    return factors_.size() == wrong_.size() ? std::optional(factors_[0]) : std::nullopt;
  }
  const std::vector<double>& values() const { return values_; }

  std::string text() const {
    const auto one = factor();
    if (one)
      return std::abs(*one) < 1e-6
                 ? fmt::format("the weights of {} of its {} output channels are zero", wrong_.size(),
                               channels_.count())
                 : fmt::format(
                       "the weights of {} of its {} output channels are {:.4g} times what they should be",
                       wrong_.size(), channels_.count(), *one);
    return fmt::format(
        "{} of its {} output channels have other weights: {} multiples of their own, {} of others",
        wrong_.size(), channels_.count(), factors_.size(), explained_ - factors_.size());
  }

 private:
  static constexpr double kSameSquare = 1e-5;  // of what no explanation leaves

  double sum_right(size_t channel, size_t i) const {
    const size_t at = channels_.place(channel, i);
    return right_[at] - base_[at];
  }
  double sum_made(size_t channel, size_t i) const {
    const size_t at = channels_.place(channel, i);
    return made_[at] - base_[at];
  }

  // The multiple of the sums of channel `from` that is nearest to what channel `to` makes, and what it
  // leaves.
  std::pair<double, double> multiple(size_t to, size_t from) const {
    double xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < channels_.size(); ++i) {
      const double x = sum_right(from, i), y = sum_made(to, i);
      xx += x * x;
      xy += x * y;
      yy += y * y;
    }
    const double factor = xx > 0 ? xy / xx : 0;
    const double scale = std::max(yy, xx);
    return {factor, scale > 0 ? (yy - factor * xy) / scale : 0};
  }

  bool is_right(size_t channel) const {
    double error = 0, all = 0;
    for (size_t i = 0; i < channels_.size(); ++i) {
      const double x = sum_right(channel, i), y = sum_made(channel, i);
      error += (x - y) * (x - y);
      all += x * x;
    }
    constexpr double kRoundings = 1e-10;
    return error <= kRoundings * all;
  }

  void set(size_t channel) {
    if (values_.empty()) values_ = right_;
    if (is_right(channel)) return;
    wrong_.push_back(channel);
    const auto [factor, left] = multiple(channel, channel);
    if (left <= kSameSquare) {
      factors_.push_back(factor);
      put(channel, channel, factor);
      return;
    }
    constexpr double kMostWork = 1e7;
    const double work = static_cast<double>(channels_.count()) * static_cast<double>(channels_.size());
    if (work * static_cast<double>(wrong_.size()) > kMostWork || channels_.size() < 2) return;
    for (size_t other = 0; other < channels_.count(); ++other) {
      const auto [times, rest] = multiple(channel, other);
      if (other == channel || rest > kSameSquare || std::abs(times - 1) > 1e-3) continue;
      put(channel, other, 1);
      return;
    }
  }

  void put(size_t channel, size_t from, double factor) {
    ++explained_;
    for (size_t i = 0; i < channels_.size(); ++i) {
      const size_t at = channels_.place(channel, i);
      values_[at] = base_[at] + factor * sum_right(from, i);
    }
  }

  const Channels& channels_;
  std::vector<double> right_, made_, base_, values_;
  std::vector<size_t> wrong_;
  std::vector<double> factors_;  // of those that are multiples of their own
  size_t explained_ = 0;
};

void propose_other_weights(const Member& member, size_t weights, const Channels& channels, const Tensor& made,
                           std::vector<Proposal>& proposals) {
  const Tensor none(member.in(weights).type(), member.in(weights).dims());
  const OtherWeights found(channels, member.out().to_doubles(), made.to_doubles(),
                           member.with_input(weights, none).at(0).to_doubles());
  if (!found.is_any()) return;
  const bool is_scale = found.is_all() && found.factor() && *found.factor() != 0;
  proposals.push_back(
      {FailureClass(is_scale ? 31 : 47),
       is_scale ? fmt::format("its weights are {:.4g} times what they should be", *found.factor())
                : found.text(),
       [&member, values = found.values()] {
         return Tensors{Tensor::from_doubles(member.out().type(), member.out().dims(), values)};
       },
       {},
       kFittedNumber});
}

}  // namespace

void propose_channels(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                      std::vector<Proposal>& proposals) {
  const auto factors = factors_of(member.node());
  if (!factors || !member.is_constant(factors->second) || !is_float(member.out().type()) ||
      member.out().rank() < 2 || member.out().size() == 0)
    return;
  const Channels channels(member);
  const auto found = seen(member, flagged);
  if (!found || channels.count() < 2) return;
  if (const Tensor* made = made_in_place(member, 0, flagged))
    propose_other_weights(member, factors->second, channels, *made, proposals);
  const auto add = [&](std::string what, std::function<Tensors()> simulate) {
    proposals.push_back({FailureClass(47), std::move(what), std::move(simulate), {}, kReadOff});
  };
  const auto lost = channels_without_weights(channels, *found);
  if (const auto count = std::count(lost.begin(), lost.end(), true); count > 0) {
    add(fmt::format("the weights of {} of its {} output channels are zero", count, channels.count()),
        [&member, channels, lost, weights = factors->second] {
          std::vector<size_t> in_place(lost.size());
          std::iota(in_place.begin(), in_place.end(), 0);
          const Tensor none(member.in(weights).type(), member.in(weights).dims());
          return with_channels(channels, member.out(), member.with_input(weights, none).at(0).to_doubles(),
                               in_place, lost);
        });
  }
  const auto order = some_of(channels, *found).order();
  if (is_in_place(order) || !is_permutation(order)) return;
  add("its output channels are exchanged: they have the weights of others", [&member, channels, order] {
    return with_channels(channels, member.out(), member.out().to_doubles(), order,
                         std::vector<bool>(order.size(), true));
  });
}

}  // namespace vernier
