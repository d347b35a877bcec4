// Copies of graphs. Constants share their buffers with the original.
#pragma once

#include <unordered_map>

#include "vernier/ir/graph.h"

namespace vernier {

using ValueMap = std::unordered_map<const Value*, Value*>;

// `values` maps what the copy reads from outside to what takes its place there; a value that is not in it
// stays itself. On return it holds every copied value, too.
std::unique_ptr<Graph> clone(const Graph& graph, ValueMap& values, Graph* parent = nullptr);
std::unique_ptr<Graph> clone(const Graph& graph);
// A copy of a node, regions included, that reads and makes the values that `values` names.
std::unique_ptr<Node> clone(const Node& node, ValueMap& values, Graph* parent);
Model clone(const Model& model);

// The values around `graph` that it, or a region inside, reads; in order of first use.
std::vector<Value*> captured_values(const Graph& graph);
// The same of all regions of a node.
std::vector<Value*> captured_values(const Node& node);

}  // namespace vernier
