// Follows the values of a graph from a node on.
#pragma once

#include <map>
#include <set>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// The nodes of `graph` that one of its values of these names depends on, their makers among them. What the
// regions of a node read counts as read by the node.
std::set<const Node*> nodes_behind(const Graph& graph, std::set<std::string> values);

// Values that depend on a random draw, and the first node, in execution order, that draws: "node 'noise'
// (RandomNormal)".
std::map<std::string, std::string> random_values(const Graph& graph);

}  // namespace vernier
