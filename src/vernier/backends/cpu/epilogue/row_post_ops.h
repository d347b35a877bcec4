// Post-ops of a contraction on rows of floats.
#pragma once

#include "vernier/backends/shared/epilogue.h"
#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

// A post-op and how its operand lies.
struct RowPost {
  enum class Operand : uint8_t {
    kNone,
    kScalar,  // one number for all
    kRow,     // one for each column
    kRows,    // one for each element of the output
  };
  PostOp post;
  Operand operand = Operand::kNone;
  ElementType element = ElementType::kFloat;  // of the operand: float, float16 or bfloat16
  bool relu = false;                          // of an Add: negative sums become 0
};

struct Rows {
  const float* from;
  int64_t from_stride;
  void* to;
  ElementType type;  // of `to`: float, float16 or bfloat16
  int64_t to_stride, count, columns;
};

// to = post(from), rounded once. `operand` belongs to the first element; rows of it are `operand_stride`
// apart. `to` may be `from`, of floats.
void apply_post(const RowPost& post, const Rows& rows, const void* operand, int64_t operand_stride);
// to = from.
void store_rows(const Rows& rows);

}  // namespace vernier::cpu
