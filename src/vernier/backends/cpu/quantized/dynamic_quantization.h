// Quantization of floats to UINT8 by their own range, as DynamicQuantizeLinear defines it.
#pragma once

#include <cstdint>

#include "vernier/backends/shared/quantized.h"

namespace vernier::cpu {

// The scale, which is a float, and the zero point that the range of the values gives; NaN is in no range.
Affine dynamic_affine(const float* x, int64_t count);
// One rounding, half to even; NaN becomes 0.
void quantize_int8(const float* x, int64_t count, const Affine& affine, uint8_t* to);

// Moves `low` and `high` as far as the values reach beyond them; NaN reaches nowhere.
void extend_range(const float* x, int64_t count, float& low, float& high);

}  // namespace vernier::cpu
