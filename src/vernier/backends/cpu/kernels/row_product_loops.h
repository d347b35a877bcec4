// Products of single rows of bfloat16 with the rows of a matrix: what they take is reading the matrix.
#pragma once

#include <cstdint>

namespace vernier::cpu {

struct RowProducts {
  const uint16_t *x, *rows;  // the matrix has `count` rows, of the depth of x
  int64_t depth, count;
  const float* start;  // what each sum begins with
  float* sums;
};
// sums[i] = start[i] + x * row i. On processors that have bf16_vectors.h.
void multiply_rows_bf16(const RowProducts& products);

}  // namespace vernier::cpu
