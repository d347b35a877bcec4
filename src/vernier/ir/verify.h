// Checks that a graph is well formed.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Throws internal_error naming the node and the broken rule: every value has one producer or none, every read
// value is made before, in this graph or one around it; names are unique; graph outputs exist. Regions are
// checked as well.
void verify(const Graph& graph);

}  // namespace vernier
