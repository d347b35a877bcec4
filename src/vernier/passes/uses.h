// Who reads what in one graph; regions count for the node that owns them. Valid until the graph changes.
#pragma once

#include <span>
#include <unordered_map>

#include "vernier/ir/graph.h"

namespace vernier {

class Uses {
 public:
  explicit Uses(const Graph& graph);
  // The only node that reads the value, once, as a direct input; null otherwise, and for outputs of the
  // graph.
  Node* only_reader(const Value* value) const;
  size_t count(const Value* value) const;
  // Every node that reads the value, once for each time; null for a region or the graph itself.
  std::span<Node* const> readers(const Value* value) const;

 private:
  std::unordered_map<const Value*, std::vector<Node*>> readers_;  // null: a region or the graph itself
};

}  // namespace vernier
