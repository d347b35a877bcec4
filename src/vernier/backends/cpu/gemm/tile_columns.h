// Products on tiles (tile_block.h) of rows of bfloat16 by so few steps, or by so few columns, that what
// begins and ends a block counts: the sums of 16 columns are stored while those of the next are multiplied.
#pragma once

#include <cstdint>

namespace vernier::cpu {

struct ColumnsProduct {
  // As BlockProduct has them, of up to 32 rows.
  const uint16_t* rows;
  int64_t row_bytes;
  const int64_t* steps;
  int64_t step_count;
  const uint16_t* weights;  // those of the next 32 columns lie `block` halves farther
  int64_t block, columns;
  float* sums;
  int64_t sums_stride;  // between rows; there is room for whole tiles
  bool adds;            // to what the sums hold
};

// All 32 rows, or 16. The thread has a TileScope.
void multiply_columns(const ColumnsProduct& product, bool all_rows);

}  // namespace vernier::cpu
