// What follows from a node of a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// Names of the values of `graph` that depend on what the node, one of `graph`, makes; its outputs among them.
// What the regions of a node read counts as read by the node.
std::set<std::string> values_from(const Graph& graph, const Node& node);

// Values that depend on a random draw, and the first node, in execution order, that draws: "node 'noise'
// (RandomNormal)".
std::map<std::string, std::string> random_values(const Graph& graph);

}  // namespace vernier
