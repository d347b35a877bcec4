// One row of a rotary position embedding.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vernier::cpu {

// Turns the first 2 * half elements, in pairs, by angles, and copies the rest. Pairs are neighbours if
// `interleaved`, else the elements i and half + i. `y` may be `x`.
inline void rotate_row(const float* x, int64_t size, const float* cosines, const float* sines, int64_t half,
                       bool interleaved, float* y) {
  const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i * step], b = x[i * step + other];
    y[i * step] = cosines[i] * a - sines[i] * b;
    y[i * step + other] = sines[i] * a + cosines[i] * b;
  }
  if (x != y) std::copy(x + 2 * half, x + size, y + 2 * half);
}

}  // namespace vernier::cpu
