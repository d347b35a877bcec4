// The epilogue of an integer product, row by row: first what zero points add is subtracted,
// from sum(a * b) to sum((a - a_zero) * (b - b_zero)), which wraps; then real numbers are made of them.
#pragma once

#include <cstdint>

namespace vernier::cpu {

struct SumRow {
  const int32_t* sums;
  int64_t count;
  int32_t a_zero = 0;                    // of the row
  const int32_t* column_sums = nullptr;  // of b; null: a_zero is 0
  const int32_t* b_zeros = nullptr;      // of each column; null: 0
  int32_t row_sum = 0;                   // of a - a_zero
};

// `to` may be where the sums are.
void correct_sums(const SumRow& row, int32_t* to);
// sum * scale + bias, of each column, all rounded as floats; no bias where that is null. `to` may be where
// the sums are.
void scale_sums(const SumRow& row, const float* scales, const float* bias, float* to);

// Row sums of int8, compiled for every instruction set that they gain from.

// sums[c] of the first `channels` elements of rows that lie `stride` apart; `is_signed` says whether they are
// of INT8. No more than 2^23 rows.
void sum_int8_rows(const uint8_t* from, int64_t rows, int64_t stride, int64_t channels, bool is_signed,
                   int32_t* sums);
// The sum of `count` elements that lie together, no more than 2^23.
int32_t sum_bytes(const uint8_t* from, int64_t count, bool is_signed);

}  // namespace vernier::cpu
