// Blocks of products in registers of 512 bits: rows by 32 columns, of floats, or of bfloat16 summed in float.
#pragma once

#include <cstdint>

#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

// Whether this process may use them.
bool has_vector_blocks();

inline constexpr int64_t kVectorColumns = 32;
// What one lane multiplies and adds at once: a float, or a pair of bfloat16.
inline constexpr int64_t kCellBytes = 4;

struct VectorProduct {
  const std::byte* x;  // rows of `cells`
  int64_t row_bytes, rows, cells;
  const std::byte* weights;  // cell by cell, those of 32 columns
  float* sums;               // [rows, 32]
};
// sums = x * weights. What a row comes to depends on nothing else.
void multiply_vectors(ElementType element, const VectorProduct& product);

}  // namespace vernier::cpu
