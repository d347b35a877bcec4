// Numbers as rows of tiles (tile_block.h): bfloat16 as it is, floats as sums of several bfloat16 terms, or
// rounded to one.
#pragma once

#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

struct SplitPixels {
  const void* from;
  int64_t stride, count, channels;  // pixels are `stride` elements apart
  // Chunk c of pixel p lies at to + c * chunk + p * 32, filled up with zeros; its next piece `piece` elements
  // farther.
  uint16_t* to;
  int64_t chunk, piece;
  TileFormat format;
};

// The pieces of x come to x but for an error of 2^-9 (one), 2^-17 (two) or 2^-25 (three) of it. What would
// round to infinity is cut off instead; infinity and NaN are in the first piece alone.
void split_pixels(const SplitPixels& split);

}  // namespace vernier::cpu
