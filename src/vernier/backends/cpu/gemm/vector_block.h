// Blocks of products in registers of 512 bits: rows by 32 columns, of floats, of bfloat16 summed in float, or
// of uint8 by int8 accumulated in int32.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/epilogue/int8_epilogue.h"

namespace vernier::cpu {

// Whether this process may use them.
bool has_vector_blocks();

// The tactics of what is multiplied so: floats and bfloat16 and int8.
inline constexpr const char *kVectorProducts = "vectors", *kInt8Vectors = "int8-vectors";

inline constexpr int64_t kVectorColumns = 32;
// What one lane multiplies and adds at once: a float, a pair of bfloat16, or four int8.
inline constexpr int64_t kCellBytes = 4;
inline constexpr int64_t kChunkCells = 16;

// How sums end that are floats and are stored as the type that was multiplied, which is float or bfloat16:
// y = clamp(sums [+ residual]). A NaN stays one.
struct VectorOutput {
  void* y;
  const void* residual;  // of y's type, lies as y does; null: none
  int64_t stride;        // elements from a row to the next
  float low, high;
};

struct VectorProduct {
  const std::byte* x;  // rows of `cells`
  int64_t row_bytes, rows, cells;
  const std::byte* weights;      // cell by cell, those of 32 columns
  void* sums;                    // [rows, 32], floats or int32; not used with `output`
  const void* starts = nullptr;  // what they begin with, one for each column; null: 0
  bool fetches = true;           // weights come from beyond the caches, those behind them soon after
  // Rows of bfloat16 may instead come in chunks of kChunkCells, the next of them `chunk_bytes` farther.
  int64_t chunks = 0, chunk_bytes = 0;
  // Of these, where the next row of sums is, and whether what the sums hold is added.
  int64_t sums_stride = kVectorColumns;
  bool adds = false;
  // What becomes of sums that are not in chunks: of floats, which are not stored then; and of int8 of more
  // than 16 columns, row by row of `sums`. Null: nothing.
  const VectorOutput* output = nullptr;
  const Int8Epilogue* bytes = nullptr;
  int64_t columns = kVectorColumns;  // that are asked for: of 16 or fewer, but not in chunks, sums of 16
};
// sums = starts + x * weights, or += that. What a row comes to depends on nothing else. There is no product
// of two int8: those of x are taken as 128 more than they are.
void multiply_vectors(ElementType element, const VectorProduct& product);

}  // namespace vernier::cpu
