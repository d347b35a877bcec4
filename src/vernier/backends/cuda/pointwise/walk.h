// How the operands of a pointwise kernel lie under the walk over its output.
#pragma once

#include "vernier/backends/cuda/pointwise/emit.h"

namespace vernier::cuda {

// Joins axes where all operands allow it, whose steps are those of the output's axes, and says of each
// operand what kind it is. Returns the sizes of the walk.
Dims settle_walk(std::vector<PointwiseAccess>& accesses, const Dims& out);

}  // namespace vernier::cuda
