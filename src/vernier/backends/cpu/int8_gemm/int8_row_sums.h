// Row sums of int8, compiled for every instruction set that they gain from.
#pragma once

#include <cstdint>

namespace vernier::cpu {

// sums[c] of the first `channels` elements of rows that lie `stride` apart; `is_signed` says whether they are
// of INT8. No more than 2^23 rows.
void sum_int8_rows(const uint8_t* from, int64_t rows, int64_t stride, int64_t channels, bool is_signed,
                   int32_t* sums);
// The sum of `count` elements that lie together, no more than 2^23.
int32_t sum_bytes(const uint8_t* from, int64_t count, bool is_signed);

}  // namespace vernier::cpu
