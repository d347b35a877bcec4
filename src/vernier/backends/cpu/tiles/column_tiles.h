// Rows that are found when a kernel runs, as the weights of blocks (tile_block.h): a piece of 32 by 32
// numbers of bfloat16 becomes two tiles. Rows are `stride` elements apart.
#pragma once

#include "vernier/backends/cpu/tiles/tile_block.h"

namespace vernier::cpu {

// Each row is a column of the weights, its 32 elements the depth.
void rows_to_columns(const uint16_t* rows, int64_t stride, uint16_t* tiles);
// The rows are the depth, their elements the columns.
void rows_to_depth(const uint16_t* rows, int64_t stride, uint16_t* tiles);

}  // namespace vernier::cpu
