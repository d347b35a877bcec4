// Codes that are constants, in other words. Internal to the room.
#pragma once

#include "vernier/passes/quantization/quantisation.h"

namespace vernier {

// INT8 around zero.
struct AroundZero {
  Tensor codes, scales;   // as many scales as before, or a scalar
  bool is_exact = false;  // the same numbers; else the widest slices have a wider scale
};
// Of 8-bit codes.
AroundZero around_zero(const Tensor& codes, const Quantisation& from);

// FLOAT, as DequantizeLinear makes it.
Tensor dequantised_constant(const Tensor& codes, const Quantisation& from);

}  // namespace vernier
