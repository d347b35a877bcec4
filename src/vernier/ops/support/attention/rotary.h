// Rotary position embedding: pairs of elements of a row are turned by an angle that its position gives.
#pragma once

#include "vernier/ops/support/attention/attention.h"

namespace vernier::ops {

// Cosines and sines of the angles, one row of `half` for each position.
struct RotaryCache {
  Elements<double> cosines, sines;
  int64_t positions = 0, half = 0;

  // From inputs [..., half] of equal sizes, e.g. [positions, half]; throws bad_input for others.
  RotaryCache(const ReferenceContext& context, size_t cosine_input, size_t sine_input);
};

// Turns the first 2 * cache.half elements of a row by the angles of a position, and copies the rest. Pairs
// are neighbours if `interleaved`, else the elements i and half + i. Throws bad_input for a position that the
// cache lacks.
void rotate_row(const RotaryCache& cache, int64_t position, bool interleaved, const double* row, int64_t size,
                double* result);

// All rows, as elements in the layout of the heads; `positions` has one position for each [batch, row].
std::vector<double> rotate_heads(const RotaryCache& cache, const std::vector<int64_t>& positions,
                                 bool interleaved, const Heads& heads, const HeadsLayout& out);

}  // namespace vernier::ops
