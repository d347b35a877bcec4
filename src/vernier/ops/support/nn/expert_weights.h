// The weights of mixtures of experts: layers [experts, outputs, inputs], read one expert at a time.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// One layer of all experts: its inputs of the node, and which of the layers it is, from 0.
struct ExpertLayer {
  size_t weights, bias, index;
};

// The weights of one expert, [outputs, inputs].
struct ExpertMatrix {
  int64_t outputs, inputs;
  std::vector<double> values;
};

// From weights that are stored as they are.
ExpertMatrix real_expert(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert);

// From packed integers, lowest bits first, of as many bits as the attribute expert_weight_bits (or the
// layer's own) tells. The scales are the input behind the weights, the optional zero points input 11 + index;
// there is one of both for each row or, with the attribute block_size, for each block of a row.
ExpertMatrix integer_expert(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert);

}  // namespace vernier::ops
