// The reference semantics of a node as a kernel of the simulated device.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::simulated {

// For a node that evaluate() (ops/evaluate.h) takes, whose operands are plain tensors of known sizes. What it
// runs on is a SimulatedStream; anything else is an internal error.
std::unique_ptr<Kernel> make_kernel(const KernelRequest& request);

}  // namespace vernier::simulated
