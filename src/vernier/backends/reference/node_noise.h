// Which nodes rounding noise may move, and by what their sums are made of.
#pragma once

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

// Whether another order of the same arithmetic may store other bits. Constants are exact, and so are integers
// that become floats, which are sizes as a rule.
bool rounds(const Node& node, const ops::OpDef& def);

// The unit roundoff of the type that the node rounds `result` to, or quantises to inside; 0 where it does not
// round. A planned group rounds what it stores.
double node_roundoff(const Node& node, const ops::OpDef& def, const Tensor& result, bool is_planned_group);

// How many products each element of the output is the sum of; 0 for other operators.
double terms(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context);

}  // namespace vernier
