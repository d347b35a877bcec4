// Sums of a few weighted arrays, by vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

// y[i] = the sum over k < count of weights[k] * x[offsets[k] + i], for i < length; in the order of k.
void weighted_rows(const float* x, const int64_t* offsets, const float* weights, size_t count, float* y,
                   int64_t length);

}  // namespace vernier::cpu
