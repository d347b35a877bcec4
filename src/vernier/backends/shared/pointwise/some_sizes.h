// Makes the request that a backend would get before sizes are known.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::pointwise {

// The node at some sizes, plain: what is equal stays equal, and what need not be equal, or 1, is not. Nothing
// for nodes with operands of unknown ranks, or with more than one output.
std::optional<KernelRequest> request_of_some_sizes(const Node& node);

}  // namespace vernier::pointwise
