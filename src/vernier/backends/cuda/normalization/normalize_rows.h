// Kernels that normalise rows, among others.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::cuda {

// Whether one may end a chain of pointwise operators with this node; for the pass that makes groups.
bool normalizes_rows(const Node& node);

}  // namespace vernier::cuda
