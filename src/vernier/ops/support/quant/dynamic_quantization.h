// Quantization to UINT8 whose parameters come from the data, as DynamicQuantizeLinear defines it.
#pragma once

#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

// Scale and zero point for the range of the values, extended to hold 0. Each step is rounded to FLOAT, as in
// the function that ONNX gives, unless `ideal`; the zero point is an integer in any mode, as it only moves
// the origin.
inline Affine dynamic_affine(std::span<const double> values, bool ideal) {
  constexpr double kSteps = 255;
  double low = 0, high = 0;
  for (const double value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const auto rounded = [&](double value) {
    return ideal ? value : static_cast<double>(static_cast<float>(value));
  };
  Affine affine;
  affine.scale = rounded(rounded(high - low) / kSteps);
  if (affine.scale == 0) affine.scale = 1;  // all values are 0
  affine.zero_point = std::nearbyint(saturate(rounded(-low / affine.scale), {0, kSteps}));
  return affine;
}

// The values after quantization by their own range, as reals again. In ideal mode they do not change.
inline std::vector<double> dynamically_quantized(std::span<const double> values, bool ideal) {
  std::vector<double> result(values.begin(), values.end());
  if (ideal) return result;
  const Affine affine = dynamic_affine(values, ideal);
  const ValueRange range = value_range(ElementType::kUint8);
  for (double& value : result) {
    const double steps = std::nearbyint(static_cast<double>(static_cast<float>(value / affine.scale)));
    value = (saturate(steps + affine.zero_point, range) - affine.zero_point) * affine.scale;
  }
  return result;
}

}  // namespace vernier::ops
