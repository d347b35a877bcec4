// Matrices of int8 that are known only when they are multiplied, as blocks in registers take them
// (vector_block.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

// [depth, columns], the depth a multiple of four, as int8: for each 32 columns cell by cell, `to` of
// depth * 32 bytes for each. Unsigned ones become 128 less. `sums`, of whole blocks, are those of the
// columns. What lies beyond the last column is of no meaning. Needs has_vector_blocks().
void pack_int8_cells(const uint8_t* from, int64_t depth, int64_t columns, bool is_signed, std::byte* to,
                     int32_t* sums);

// The sum of each of `rows` rows of `depth` bytes, one after the other. Needs the same.
void sum_rows_of_int8(const uint8_t* from, int64_t rows, int64_t depth, bool is_signed, int32_t* sums);

}  // namespace vernier::cpu
