// The graph of an engine for all sizes of its free dimensions, after the passes of plans: a graph at known
// sizes is a copy of it in which expressions are evaluated. No pass runs when a new size comes; inference is
// asked whether the sizes fit the nodes that had others so far.
#pragma once

#include <mutex>
#include <unordered_set>

#include "vernier/ir/graph.h"

namespace vernier {

class RangedGraph {
 public:
  // `graph`: its types are inferred and passes have run. What follows from sizes (Shape, Gather and Concat
  // before a Reshape, say) is computed by nobody any more: it becomes a content that at() fills in.
  explicit RangedGraph(std::unique_ptr<Graph> graph);

  // The graph where its inputs have these types, whose sizes are known. Sizes that only running tells stay
  // expressions. Null if these sizes do not determine those of the graph, or do not fit: then it is to be
  // inferred and rewritten for them, which says what is wrong.
  std::unique_ptr<Graph> at(const std::vector<ValueType>& inputs) const;

  const Graph& graph() const { return *graph_; }

 private:
  // A small tensor whose elements are expressions.
  struct Content {
    Value* value;  // a constant of graph_, whose elements mean nothing there
    std::vector<Dim> elements;
  };

  void replace_contents();
  bool fits(Graph& copy) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Content> contents_;
  mutable std::mutex mutex_;
  mutable std::unordered_set<uint64_t> fitting_;  // nodes with operands that inference took
};

}  // namespace vernier
