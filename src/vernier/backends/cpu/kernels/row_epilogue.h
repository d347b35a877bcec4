// What follows a product, on one row of floats at a time.
#pragma once

#include "vernier/backends/cpu/epilogue.h"

namespace vernier::cpu {

// Whether rows of it can be computed here.
bool is_row_post(PostOp::Kind kind);

// to = post(from); `operand` is one float for the whole row, or one for each element.
void apply_post(const PostOp& post, const float* from, int64_t count, const float* operand, bool is_scalar,
                float* to);

}  // namespace vernier::cpu
