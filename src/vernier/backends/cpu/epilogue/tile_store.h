// How most blocks of sums end, in one pass over them: y = end(sums + bias [+ residual]), rounded to the
// output's type. Numbers of bfloat16 below 2^-126 become 0, as tiles have them.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/epilogue/row_end.h"

namespace vernier::cpu {

struct TileStore {
  const float* sums;     // rows of kBlockColumns, of which `columns` count
  const float* bias;     // of each column
  const void* residual;  // of y's type, lies as y does; null: none
  void* y;
  int64_t stride, rows, columns;  // `stride` elements from a row of y to the next
  bool is_narrow;                 // y is of bfloat16, else of floats
  RowEnd end = {};                // of floats, no gate but kSwish
};

// A NaN stays one. y may be the residual, or the sums.
void store_tiles(const TileStore& store);

}  // namespace vernier::cpu
