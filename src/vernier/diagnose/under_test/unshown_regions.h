// Nodes between which nothing is seen, as one: what goes wrong at any of them is seen where values are shown.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// A copy of a graph in which nodes that pass on a value that nobody shows are one group with those that read
// it. Outputs of the graph are always shown. Nodes with regions, those that draw numbers, and those of
// values that are no tensors stay by themselves, since no group of them can be analysed. The constants that a
// group reads are inside of it, so that they are known as such there.
std::shared_ptr<const Graph> group_unshown(const Graph& graph, const std::set<std::string>& shown);

}  // namespace vernier
