// Separable resampling of images: Resize and Upsample. All positions and weights are found once, in double,
// from exact ratios, before any element is touched.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// output size / input size, both positive.
struct Ratio {
  int64_t numerator = 1, denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  bool is_one() const { return numerator == denominator; }
  Dim scaled(const Dim& size) const { return floordiv(size * numerator, denominator); }
};

// The simplest fraction that rounds to the float: no float is 0.7 or 64 / 26, but these are meant, and with
// them sizes and positions come out as they do in exact arithmetic. Throws bad_input unless the scale is
// positive and finite.
Ratio ratio_of(double scale);

enum class Interpolation : uint8_t { kNearest, kLinear, kCubic };
enum class CoordinateMode : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
// kTowardsInput: down where an axis grows, up where it shrinks, as before opset 11.
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kTowardsInput };

struct ResampleRule {
  Interpolation interpolation = Interpolation::kNearest;
  CoordinateMode coordinates = CoordinateMode::kAsymmetric;
  NearestMode nearest = NearestMode::kTowardsInput;
  double cubic_coefficient = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation_value = 0;
};

// "nearest", "linear" (also under its names for images and volumes) or "cubic"; throws bad_input otherwise.
Interpolation interpolation_of(const std::string& mode);

// One axis that changes.
struct ResampleAxis {
  size_t axis = 0;
  int64_t input = 0, output = 0;
  Ratio ratio;                        // a scale as given, else output / input
  double roi_start = 0, roi_end = 1;  // kTfCropAndResize: the part of the input, in its lengths
};

// x, row-major with sizes `dims`, resampled along these axes.
std::vector<double> resampled(std::span<const double> x, Dims dims, const ResampleRule& rule,
                              const std::vector<ResampleAxis>& axes);

// Resamples input 0 into output 0, whose sizes are those of the axes. Integers are rounded to the nearest and
// saturate.
void resample(ReferenceContext& context, const ResampleRule& rule, const std::vector<ResampleAxis>& axes);

}  // namespace vernier::ops
