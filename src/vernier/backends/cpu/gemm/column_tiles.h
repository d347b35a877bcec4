// Rows that are found when a kernel runs, as the weights of blocks (tile_block.h, vector_block.h): a term of
// 32 by 32 numbers of bfloat16 becomes two tiles. Rows are `stride` elements apart.
#pragma once

#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

// Where the pairs of depth of 16 columns lie, in halves: from one to the next, and those of the second 16.
struct PairPlaces {
  int64_t next, second;
};
// As tiles want them, and as vectors do.
inline constexpr PairPlaces kTileByTile{kChunk, kTileSize}, kSideBySide{2 * kChunk, kChunk};

// Each row is a column of the weights, its 32 elements the depth.
void rows_to_columns(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to);
// The rows are the depth, their elements the columns.
void rows_to_depth(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to);

}  // namespace vernier::cpu
