// A node on operands that are known, by its reference semantics.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// `inputs` in the order of the node's, null where one is left out. The node has no regions.
// `declared` are the types of the operands in the graph, where these differ from what they are stored as:
// ideal mode reads floats, and what was quantized, as double, to which floats are converted here. Empty: they
// are stored in their declared types.
std::vector<Datum> evaluate(const Node& node, const std::vector<const Tensor*>& inputs,
                            ReferenceMode mode = ReferenceMode::kDeclared,
                            const std::vector<ElementType>& declared = {});

}  // namespace vernier::ops
