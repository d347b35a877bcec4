// Replacing nodes. The one way to do so, because it keeps provenance: whatever a node computes, the ONNX
// nodes behind it stay known.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Whether a node of `graph` or of a region inside it, other than those of `except`, reads the value, or a
// graph gives it out.
bool is_read(const Graph& graph, const Value* value, const std::set<const Node*>& except = {});

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  // Puts `replacement` (in order) where the last of the `old` nodes was, and removes the old ones. The new
  // nodes take over those outputs of the old that they list among their own outputs; each gets the provenance
  // of all old nodes. Throws internal_error if an old output that is still read or is a graph output has no
  // new producer, or if a node that stays would read a value before it is made.
  void replace(const std::vector<Node*>& old, std::vector<std::unique_ptr<Node>> replacement);

  // Removes a node whose output 0 equals an existing value: every use of it becomes a use of `same`, whose
  // producer takes the node's provenance. Outputs of the graph keep their name: then nothing is done, and
  // false returned.
  bool forward(Node* node, Value* same);

 private:
  size_t position(const Node* node) const;
  Graph& graph_;
};

}  // namespace vernier
