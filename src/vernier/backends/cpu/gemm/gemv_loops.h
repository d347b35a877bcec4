// The loops of gemv: one row times the rows of a matrix, both of bfloat16 or of floats. Their speed is that
// of reading the matrix.
#pragma once

#include <cstdint>

namespace vernier::cpu {

template <class T>
struct GemvRows {
  const T *x, *rows;  // the matrix has `count` rows, of the depth of x
  int64_t depth, count;
  const float* initial;  // the initial accumulators, such as a bias; one for each row of the matrix
  float* sums;
};
// sums[i] = initial[i] + x * row i, on processors that have the instructions of bf16_vectors.h.
void multiply_rows(const GemvRows<uint16_t>& products);  // bfloat16
void multiply_rows(const GemvRows<float>& products);

}  // namespace vernier::cpu
