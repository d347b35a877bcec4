// Sums down the columns of matrices of bfloat16.
#pragma once

#include <cstdint>

namespace vernier::cpu {

// sums[i] = the sum of column i, row by row in floats; rows are `stride` elements apart. At most kTileColumns
// columns.
void sum_columns_bf16(const uint16_t* x, int64_t rows, int64_t stride, int64_t columns, float* sums);

}  // namespace vernier::cpu
