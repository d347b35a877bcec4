// The values that int8 quantises by ranges.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Which inputs of a node int8 quantises by ranges: those that a Conv, MatMul or Gemm of floats multiplies,
// but constant weights, whose content gives their scales. Empty for every other node.
std::vector<size_t> ranged_inputs(const Node& node);
// The values of the graph, regions left out, that int8 needs ranges of, in the order of the nodes that read
// them. Types are inferred.
std::vector<const Value*> ranged_values(const Graph& graph);

}  // namespace vernier
