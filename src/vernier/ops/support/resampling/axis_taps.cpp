#include "vernier/ops/support/resampling/axis_taps.h"

namespace vernier::ops {

namespace {

// The position in the input that element i of the output stands for.
double source_position(const ResampleAxis& axis, CoordinateMode mode, int64_t i) {
  const auto x = static_cast<double>(i), length = static_cast<double>(axis.input);
  const auto numerator = static_cast<double>(axis.ratio.numerator),
             denominator = static_cast<double>(axis.ratio.denominator);
  // One division, so that whole results are exact.
  const auto unscaled = [&](double position) { return position * denominator / numerator; };
  const double last_output = (length * numerator - denominator) / denominator;  // may be a fraction
  switch (mode) {
    case CoordinateMode::kHalfPixel: return unscaled(x + 0.5) - 0.5;
    case CoordinateMode::kHalfPixelSymmetric: {
      const double kept = unscaled(static_cast<double>(axis.output)) / length;
      return length / 2 * (1 - kept) + unscaled(x + 0.5) - 0.5;
    }
    case CoordinateMode::kPytorchHalfPixel: return axis.output > 1 ? unscaled(x + 0.5) - 0.5 : 0;
    case CoordinateMode::kAlignCorners: return i == 0 ? 0 : x * (length - 1) / last_output;
    case CoordinateMode::kAsymmetric: return unscaled(x);
    case CoordinateMode::kTfHalfPixelForNn: return unscaled(x + 0.5);
    case CoordinateMode::kTfCropAndResize:
      if (axis.output == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (length - 1);
      return axis.roi_start * (length - 1) + x * (axis.roi_end - axis.roi_start) * (length - 1) / last_output;
  }
  throw internal_error("coordinate mode {}", static_cast<int>(mode));
}

double nearest(double position, NearestMode mode, const Ratio& ratio) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor: return std::ceil(position - 0.5);
    case NearestMode::kRoundPreferCeil: return std::floor(position + 0.5);
    case NearestMode::kFloor: return std::floor(position);
    case NearestMode::kCeil: return std::ceil(position);
    case NearestMode::kTowardsInput:
      return ratio.numerator >= ratio.denominator ? std::floor(position) : std::ceil(position);
  }
  throw internal_error("nearest mode {}", static_cast<int>(mode));
}

// The weight of an element at a distance, which is stretched already where the filter is.
double filter(double distance, const ResampleRule& rule) {
  const double x = std::abs(distance), a = rule.cubic_coefficient;
  if (rule.interpolation == Interpolation::kLinear) return std::max(0.0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * a * x - 4 * a : 0;
}

class TapsBuilder {
 public:
  TapsBuilder(const ResampleAxis& axis, const ResampleRule& rule) : axis_(axis), rule_(rule) {}

  AxisTaps build() {
    for (int64_t i = 0; i < axis_.output; ++i) {
      const double position = source_position(axis_, rule_.coordinates, i);
      // Far positions, of a damaged region, would not fit an integer.
      const double held = std::isnan(position) ? 0 : std::clamp(position, -kFar, kFar);
      if (rule_.interpolation == Interpolation::kNearest)
        add(static_cast<int64_t>(nearest(held, rule_.nearest, axis_.ratio)), 1);
      else
        add_filtered(held);
      taps_.starts.push_back(taps_.indices.size());
      taps_.outside.push_back(rule_.coordinates == CoordinateMode::kTfCropAndResize &&
                              !(position >= 0 && position <= static_cast<double>(axis_.input - 1)));
    }
    return std::move(taps_);
  }

 private:
  static constexpr double kFar = 0x1p40;

  // Beyond the edges lies the edge's element.
  void add(int64_t index, double weight) {
    index = std::clamp<int64_t>(index, 0, axis_.input - 1);
    if (taps_.indices.size() > taps_.starts.back() && taps_.indices.back() == index) {
      taps_.weights.back() += weight;
    } else {
      taps_.indices.push_back(index);
      taps_.weights.push_back(weight);
    }
  }

  void add_filtered(double position) {
    const double stretch = rule_.antialias ? std::min(1.0, axis_.ratio.value()) : 1;
    const double reach = (rule_.interpolation == Interpolation::kLinear ? 1 : 2) / stretch;
    const auto last = static_cast<int64_t>(std::ceil(position + reach)) - 1;
    double total = 0;
    const size_t first_tap = taps_.weights.size();
    for (auto i = static_cast<int64_t>(std::floor(position - reach)) + 1; i <= last; ++i) {
      const double weight = filter((static_cast<double>(i) - position) * stretch, rule_);
      if (weight == 0 || (rule_.exclude_outside && (i < 0 || i >= axis_.input))) continue;
      add(i, weight);
      total += weight;
    }
    if ((!rule_.antialias && !rule_.exclude_outside) || total == 0) return;
    for (size_t k = first_tap; k < taps_.weights.size(); ++k) taps_.weights[k] /= total;
  }

  const ResampleAxis& axis_;
  const ResampleRule& rule_;
  AxisTaps taps_;
};

}  // namespace

AxisTaps axis_taps(const ResampleAxis& axis, const ResampleRule& rule) {
  return TapsBuilder(axis, rule).build();
}

}  // namespace vernier::ops
