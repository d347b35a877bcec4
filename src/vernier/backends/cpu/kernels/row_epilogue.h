// What follows a product, on rows of floats.
#pragma once

#include "vernier/backends/cpu/epilogue.h"

namespace vernier::cpu {

// A post-op and how its operand lies.
struct RowPost {
  enum class Operand : uint8_t {
    kNone,
    kScalar,  // one float for all
    kRow,     // one for each column
    kRows,    // one for each element of the output
  };
  PostOp post;
  Operand operand = Operand::kNone;
};

// Nothing if an operand is no float, or lies in another way. `columns_axis` of the output is the columns'.
std::optional<std::vector<RowPost>> row_posts(const Fused& fused, const KernelRequest& request,
                                              size_t columns_axis);
// Takes what is added to all rows first, if its content is known; nothing: no such.
const Tensor* take_row_bias(std::vector<RowPost>& posts, const KernelRequest& request);
// Whether functions among them are accurate to a few ulp only.
bool is_approximate(const std::vector<RowPost>& posts);

struct Rows {
  const float* from;
  int64_t from_stride;
  float* to;
  int64_t to_stride, count, columns;
};
// to = post(from). `operand` belongs to the first element; rows of it are `operand_stride` apart.
void apply_post(const RowPost& post, const Rows& rows, const float* operand, int64_t operand_stride);

}  // namespace vernier::cpu
