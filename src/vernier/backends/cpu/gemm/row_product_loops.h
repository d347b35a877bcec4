// Products of single rows with the rows of a matrix, both of bfloat16 or of floats: what they take is reading
// the matrix.
#pragma once

#include <cstdint>

namespace vernier::cpu {

template <class T>
struct RowProducts {
  const T *x, *rows;  // the matrix has `count` rows, of the depth of x
  int64_t depth, count;
  const float* start;  // what each sum begins with
  float* sums;
};
// sums[i] = start[i] + x * row i. On processors that have bf16_vectors.h.
void multiply_rows(const RowProducts<uint16_t>& products);  // bfloat16
void multiply_rows(const RowProducts<float>& products);

}  // namespace vernier::cpu
