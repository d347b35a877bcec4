// Matrix products in blocks of rows by 32 columns whose accumulators stay in AVX-512 registers: of floats, of
// bfloat16 accumulated in float, or of uint8 by int8 accumulated in int32.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/epilogue/int8_epilogue.h"

namespace vernier::cpu {

// Whether the processor, within the limit of --isa, has the instructions.
bool has_vector_blocks();

// The tactics that multiply so: floats and bfloat16; int8.
inline constexpr const char *kVectorProducts = "vectors", *kInt8Vectors = "int8-vectors";

inline constexpr int64_t kVectorColumns = 32;
// A VNNI group is what one lane multiplies and accumulates with one instruction, neighbours along K: a float,
// a pair of bfloat16, or four int8.
inline constexpr int64_t kVnniGroupBytes = 4;
inline constexpr int64_t kChunkGroups = 16;  // VNNI groups in a chunk

// The epilogue of float accumulators in registers, stored as the operands' type, float or bfloat16:
// y = clamp(accumulators [+ residual]). A NaN stays one.
struct VectorOutput {
  void* y;
  const void* residual;  // of y's type, lies as y does; null: none
  int64_t stride;        // elements from a row to the next
  float low, high;
};

struct VectorProduct {
  const std::byte* x;  // rows of `groups` VNNI groups
  int64_t row_bytes, rows, groups;
  const std::byte* weights;       // [groups, 32 columns, VNNI group]
  void* sums;                     // accumulators [rows, 32], floats or int32; not used with `output`
  const void* initial = nullptr;  // initial accumulators, one for each column; null: 0
  bool fetches = true;            // weights come from beyond the caches, those behind them soon after
  // Rows of bfloat16 may instead come in chunks of kChunkGroups, the next of them `chunk_bytes` farther.
  int64_t chunks = 0, chunk_bytes = 0;
  // With chunks: elements from one row of accumulators to the next, and whether products are added to what
  // the accumulators hold.
  int64_t sums_stride = kVectorColumns;
  bool adds = false;
  // The epilogue of a product without chunks; null: none. `output` is for floats, whose accumulators are not
  // stored then; `bytes` for int8 with more than 16 columns, and reads the rows of `sums`.
  const VectorOutput* output = nullptr;
  const Int8Epilogue* bytes = nullptr;
  int64_t columns = kVectorColumns;  // that are asked for: of 16 or fewer, but not in chunks, sums of 16
};
// Computes sums = initial + x * weights, or sums += x * weights. The result of a row does not depend on the
// other rows. The instruction multiplies uint8 by int8, so an int8 x is read as uint8, which is 128 more.
void multiply_vectors(ElementType element, const VectorProduct& product);

}  // namespace vernier::cpu
