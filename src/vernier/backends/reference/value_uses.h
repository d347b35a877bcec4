// Who reads which values in one run of a graph, so that each is released after its last use.
#pragma once

#include <unordered_map>

#include "vernier/ir/graph.h"

namespace vernier {

// What a region reads counts once for the node that owns the region; an output of the graph counts as read.
struct ValueUses {
  std::unordered_map<const Value*, int> counts;
  std::unordered_map<const Node*, std::vector<const Value*>> reads;

  explicit ValueUses(const Graph& graph);
};

}  // namespace vernier
