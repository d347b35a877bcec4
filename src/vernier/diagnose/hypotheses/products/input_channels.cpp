// B47: some input channels of a product have other weights: multiples of their own, none, or those of another
// input channel.
#include <cmath>
#include <numeric>

#include "vernier/diagnose/causes/least_squares.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/products/products.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

// Some elements of the result, each as a sum over input channels.
class InputChannels {
 public:
  InputChannels(const MatrixProduct& product, const std::vector<double>& right,
                const std::vector<double>& made)
      : product_(product), count_(static_cast<size_t>(product.length / product.taps)) {
    const int64_t all = product.groups * product.rows * product.columns;
    const auto wanted = static_cast<int64_t>(kTimes * count_ + 64);
    const int64_t step = std::max<int64_t>(1, all / wanted);
    // A step that shares no factor with the columns, so that all of them are met.
    const int64_t odd = std::gcd(step, product.columns) == 1 ? step : step + 1;
    for (int64_t at = 0; at < all; at += odd) {
      const Element element{at / product.columns / product.rows, at / product.columns % product.rows,
                            at % product.columns};
      const size_t place = product.result_at(element.group, element.row, element.column);
      if (!std::isfinite(made[place])) continue;
      elements_.push_back(element);
      errors_.push_back(made[place] - right[place]);
    }
    for (size_t channel = 0; channel < count_; ++channel) set_parts(channel);
  }

  size_t count() const { return count_; }
  bool are_enough() const { return 4 * elements_.size() > 5 * count_ + 32; }

  // By channel, how many times as large its weights would have to be, less one.
  std::vector<double> changes() const {
    std::vector<double> rows(elements_.size() * count_);
    for (size_t i = 0; i < elements_.size(); ++i) {
      for (size_t channel = 0; channel < count_; ++channel) rows[i * count_ + channel] = parts_[channel][i];
    }
    return least_squares(rows, errors_, elements_.size(), count_, 1);
  }

  // The channel that alone comes nearest to the error, and its change.
  std::pair<size_t, double> best_single() const {
    std::pair<size_t, double> best{0, 0};
    double most = 0;
    for (size_t channel = 0; channel < count_; ++channel) {
      double xx = 0, xy = 0;
      for (size_t i = 0; i < errors_.size(); ++i) {
        xx += parts_[channel][i] * parts_[channel][i];
        xy += parts_[channel][i] * errors_[i];
      }
      if (!(xx > 0) || xy * xy / xx <= most) continue;
      most = xy * xy / xx;
      best = {channel, xy / xx};
    }
    return best;
  }

  // The two channels whose exchange comes nearest to the error; nothing if that leaves much.
  std::optional<std::pair<size_t, size_t>> best_exchange() const {
    constexpr double kMostWork = 3e8, kMostLeft = 0.05;
    const double work = static_cast<double>(count_ * count_) * static_cast<double>(elements_.size()) *
                        static_cast<double>(product_.taps);
    if (work > kMostWork) return std::nullopt;
    double all = 0;
    for (const double error : errors_) all += error * error;
    std::optional<std::pair<size_t, size_t>> best;
    double least = kMostLeft * all;
    for (size_t a = 0; a < count_; ++a) {
      for (size_t b = a + 1; b < count_; ++b) {
        double left = 0;
        for (size_t i = 0; i < errors_.size() && left < least; ++i) {
          const double rest =
              errors_[i] - part(elements_[i], a, b) - part(elements_[i], b, a) + parts_[a][i] + parts_[b][i];
          left += rest * rest;
        }
        if (left >= least) continue;
        least = left;
        best = {a, b};
      }
    }
    return best;
  }

 private:
  static constexpr size_t kTimes = 4;  // as many elements as channels

  struct Element {
    int64_t group, row, column;
  };

  // Multiplies what is read from channel `from` by the weights of channel `of`.
  double part(const Element& at, size_t from, size_t of) const {
    double sum = 0;
    for (int64_t tap = 0; tap < product_.taps; ++tap)
      sum += product_.left_at(at.group, at.row, static_cast<int64_t>(from) * product_.taps + tap) *
             product_.right_at(at.group, static_cast<int64_t>(of) * product_.taps + tap, at.column);
    return sum;
  }

  void set_parts(size_t channel) {
    auto& parts = parts_.emplace_back();
    for (const Element& each : elements_) parts.push_back(part(each, channel, channel));
  }

  const MatrixProduct& product_;
  size_t count_;
  std::vector<Element> elements_;
  std::vector<double> errors_;
  std::vector<std::vector<double>> parts_;  // by channel and element
};

// The axis of the input channels in the weights.
size_t channel_axis(const Member& member, size_t weights) {
  const int64_t outputs = *ops::output_channel_axis(member.node(), member.in(weights).rank());
  return static_cast<size_t>(outputs == 0 ? 1 : outputs - 1);
}

// The weights with each slice along the axis taken from that place and multiplied.
Tensor with_slices(const Tensor& weights, size_t axis, const std::vector<size_t>& from,
                   const std::vector<double>& factors) {
  const auto before = weights.to_doubles();
  auto values = before;
  size_t inner = 1;
  for (size_t i = axis + 1; i < weights.dims().size(); ++i) inner *= static_cast<size_t>(weights.dims()[i]);
  const auto length = static_cast<size_t>(weights.dims()[axis]);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t index = i / inner % length;
    values[i] = factors[index] * before[i + (from[index] - index) * inner];
  }
  return Tensor::from_doubles(weights.type(), weights.dims(), values);
}

std::vector<size_t> in_place(size_t count) {
  std::vector<size_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

void propose_weights(const Member& member, size_t weights, std::string what, std::vector<size_t> from,
                     std::vector<double> factors, std::vector<Proposal>& proposals) {
  proposals.push_back({FailureClass(47),
                       std::move(what),
                       [&member, weights, from = std::move(from), factors = std::move(factors)] {
                         return member.with_input(
                             weights,
                             with_slices(member.in(weights), channel_axis(member, weights), from, factors));
                       },
                       {},
                       kFittedNumber});
}

void propose_multiples(const Member& member, size_t weights, const InputChannels& channels,
                       std::vector<Proposal>& proposals) {
  constexpr double kNone = 1e-3;
  std::vector<double> factors(channels.count(), 1);
  if (channels.are_enough()) {
    const auto changes = channels.changes();
    for (size_t i = 0; i < factors.size(); ++i) factors[i] += std::abs(changes[i]) < kNone ? 0 : changes[i];
  } else {
    const auto [channel, change] = channels.best_single();
    factors[channel] += change;
  }
  const auto others =
      std::count_if(factors.begin(), factors.end(), [](double factor) { return factor != 1; });
  if (others == 0 || others == std::ssize(factors)) return;
  const auto lost =
      std::count_if(factors.begin(), factors.end(), [](double factor) { return std::abs(factor) < kNone; });
  propose_weights(
      member, weights,
      lost == others
          ? fmt::format("the weights of {} of its {} input channels are zero", lost, factors.size())
          : fmt::format("the weights of {} of its {} input channels are multiples of what they "
                        "should be",
                        others, factors.size()),
      in_place(factors.size()), factors, proposals);
}

}  // namespace

void propose_input_channels(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                            std::vector<Proposal>& proposals) {
  constexpr int64_t kMostChannels = 512;
  constexpr double kMostWork = 2e8;
  const auto factors = factors_of(member.node());
  const Tensor* made = made_in_place(member, 0, flagged);
  if (!factors || made == nullptr || !member.is_constant(factors->second) || !is_float(member.out().type()))
    return;
  const auto product = product_of(member, member.in(factors->first), member.in(factors->second), kMostWork);
  if (!product) return;
  const int64_t count = product->length / product->taps;
  const size_t axis = channel_axis(member, factors->second);
  if (count < 2 || count > kMostChannels || member.in(factors->second).dims()[axis] != count) return;
  const InputChannels channels(*product, member.out().to_doubles(), made->to_doubles());
  propose_multiples(member, factors->second, channels, proposals);
  if (const auto exchanged = channels.best_exchange()) {
    auto from = in_place(channels.count());
    std::swap(from[exchanged->first], from[exchanged->second]);
    propose_weights(member, factors->second, "two of its input channels have each other's weights", from,
                    std::vector<double>(from.size(), 1), proposals);
  }
}

}  // namespace vernier
