// Attention and QAttention of com.microsoft: queries, keys and values are one projection of the input.
#pragma once

#include "vernier/ops/support/attention/attention.h"

namespace vernier::ops {

// The inputs that the two operators have at different places.
struct ProjectedAttention {
  size_t input, weights, mask, past, bias_of_scores;
};

// Output 0 [batch, rows, value hidden size] of type `element`, output 1 (present) [2, batch, heads, keys,
// head size].
void infer_projected_attention(InferContext& context, const ProjectedAttention& inputs, ElementType element);

// `projection` [batch * rows, hidden sizes of queries, keys and values].
void run_projected_attention(ReferenceContext& context, const ProjectedAttention& inputs,
                             std::vector<double> projection);

}  // namespace vernier::ops
