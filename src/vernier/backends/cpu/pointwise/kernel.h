// The kernel of one pointwise operator, or of a group of them.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

std::unique_ptr<Kernel> make_pointwise(const KernelRequest& request, std::string& reason);

// Whether the kernel can compute the node, whose types and sizes are known; for the pass that makes groups.
bool is_pointwise(const Node& node);

}  // namespace vernier::cpu
