// Packing of int8 matrices that are known only when they are multiplied, as weights of blocks in registers
// (vector_block.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

// Packs a matrix [depth, columns], whose depth is a multiple of four, as [blocks of 32 columns, VNNI groups,
// 32 columns, 4]: `to` has depth * 32 bytes for each block. uint8 becomes int8, 128 less. `sums`, with 32
// numbers for each block, receives the sum of each column. Columns beyond the last have no meaning. Needs
// has_vector_blocks().
void pack_vnni_groups(const uint8_t* from, int64_t depth, int64_t columns, bool is_signed, std::byte* to,
                      int32_t* sums);

// Writes the sum of each of `rows` contiguous rows of `depth` elements. Needs has_vector_blocks().
void sum_rows_of_int8(const uint8_t* from, int64_t rows, int64_t depth, bool is_signed, int32_t* sums);

}  // namespace vernier::cpu
