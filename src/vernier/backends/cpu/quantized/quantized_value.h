#pragma once

#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::cpu {

// Makes int8 of real numbers as QuantizeLinear does: the quotient by the scale is a FLOAT, which decides
// what is a tie.
class Quantizer {
 public:
  Quantizer(const Affine& affine, ElementType type) : affine_(affine), range_(ops::value_range(type)) {}

  uint8_t operator()(double real) const {
    const auto steps = static_cast<double>(static_cast<float>(real / affine_.scale));
    const double code = ops::saturate(std::nearbyint(steps) + affine_.zero_point, range_);
    return static_cast<uint8_t>(static_cast<int32_t>(code));
  }

 private:
  Affine affine_;
  ops::ValueRange range_;
};

// The integer that the bits stand for in this type, INT8 or UINT8.
inline int32_t integer_of(uint8_t byte, ElementType type) {
  return type == ElementType::kInt8 ? static_cast<int8_t>(byte) : byte;
}

}  // namespace vernier::cpu
