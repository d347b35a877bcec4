// Codes that are constants, in other words. Internal to the room.
#pragma once

#include "vernier/passes/quantization/quantization.h"

namespace vernier {

// INT8 around zero.
struct AroundZero {
  Tensor codes, scales;   // as many scales as before, or a scalar
  bool is_exact = false;  // the same numbers; else the widest slices have a wider scale
};
// Takes 8-bit codes.
AroundZero around_zero(const Tensor& codes, const Quantization& from);

// FLOAT, as DequantizeLinear makes it.
Tensor dequantized_constant(const Tensor& codes, const Quantization& from);

// Holds the range that codes can stand for. Internal to the room.
struct CodeRange {
  double low = 0, high = 0;

  // Gives the range of one scale.
  static CodeRange of(const Quantization& from);
  // Gives the scale of INT8 around zero that reaches as far.
  double symmetric_scale() const;
};

// Whether operators alone tell so.
bool is_never_negative(const Value* value);

}  // namespace vernier
