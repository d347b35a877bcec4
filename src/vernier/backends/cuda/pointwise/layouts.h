// Pointwise kernels among others.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cuda {

// Whether a pointwise kernel serves the node, whatever its sizes; for the pass that makes groups.
bool is_pointwise(const Node& node);

// Inputs lie as they do, and outputs as the first image of their sizes does.
void lay_out_pointwise(KernelRequest& request);

}  // namespace vernier::cuda
