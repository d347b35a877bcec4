// Packing of numbers as rows of tiles (tile_block.h): bfloat16 as it is, a float as several bfloat16 terms
// whose sum it is, or rounded to one term.
#pragma once

#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

struct SplitPixels {
  const void* from;
  int64_t stride, count, channels;  // pixels are `stride` elements apart
  // Chunk c of pixel p lies at to + c * chunk + p * 32, filled up with zeros; its next term `term` elements
  // farther.
  uint16_t* to;
  int64_t chunk, term;
  TileFormat format;
};

// The sum of the terms of x differs from x by at most 2^-9 (one term), 2^-17 (two) or 2^-25 (three) of x. A
// finite x that would round to infinity is truncated instead; an infinity or NaN is the first term alone.
void split_pixels(const SplitPixels& split);

}  // namespace vernier::cpu
