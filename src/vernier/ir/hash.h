// A hash of what a graph computes, whatever its values and nodes are called.
#pragma once

#include <cstdint>
#include <functional>

#include "vernier/ir/graph.h"

namespace vernier {

// Covers operators, versions, attributes, connections, input types, constants and regions, in node order.
uint64_t structural_hash(const Graph& graph);
// The same where constants are told apart in another way.
uint64_t structural_hash(const Graph& graph, const std::function<uint64_t(const Tensor&)>& hash_of_constant);
uint64_t hash_tensor(const Tensor& tensor);

}  // namespace vernier
