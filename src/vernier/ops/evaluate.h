// A node on operands that are known, by its declared reference semantics.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

// `inputs` in the order of the node's, null where one is left out. The node has no regions.
std::vector<Datum> evaluate(const Node& node, const std::vector<const Tensor*>& inputs);

}  // namespace vernier::ops
