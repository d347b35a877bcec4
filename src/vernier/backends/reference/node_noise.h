// Which nodes rounding noise may move, and by what their sums are made of.
#pragma once

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

// Whether another order of the same arithmetic may store other bits. Constants are exact, so is what rounds
// nothing, and so are integers that become floats, which are sizes as a rule.
bool rounds(const Node& node, const ops::OpDef& def);

// `noisy`, but where the stored result needed no rounding: what the operation, or the sum of whole numbers,
// made is what its type holds. In whatever order it is computed, that is the same.
Tensor where_rounded(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context,
                     const Tensor& stored, Tensor noisy);
// The same of the result of a planned group, which was `unrounded` before it was stored.
Tensor where_rounded(const Tensor& unrounded, const Tensor& stored, const Tensor& noisy);

// Moves what a step function in a planned group reads, as arithmetic in float may: numbers that float holds
// are exact.
Tensor moved_in_float(const Tensor& operand, uint64_t seed);

// The unit roundoff of the type that the node rounds `result` to, or quantizes to inside; 0 where it does not
// round. A planned group rounds what it stores.
double node_roundoff(const Node& node, const ops::OpDef& def, const Tensor& result, bool is_planned_group);

// How many products each element of the output is the sum of; 0 for other operators.
double terms(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context);

}  // namespace vernier
