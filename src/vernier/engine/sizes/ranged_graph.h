// The graph of an engine for all sizes of its free dimensions, after the passes of plans: a graph at known
// sizes is a copy of it in which expressions are evaluated. No pass runs when a new size comes; inference is
// asked whether the sizes fit the nodes that had others so far.
#pragma once

#include <mutex>
#include <unordered_set>

#include "vernier/exec/planning/resizable_plan.h"
#include "vernier/ir/clone.h"

namespace vernier {

// A graph at known sizes, and what of it follows from those of its inputs.
struct SizedGraph {
  // A value of the graph whose sizes, or elements if it is a constant, are expressions.
  struct Follower {
    const Value* value;
    const std::vector<Dim>* expressions;
    std::vector<size_t> readers;
  };
  // A node that reads or makes such values, itself or in the body of a group.
  struct Reader {
    const Node* node;
    std::vector<size_t> followers;
  };

  std::shared_ptr<const Graph> graph;
  SymbolValues symbols;
  std::vector<Follower> followers;
  std::vector<Reader> readers;
  std::map<std::string, std::vector<size_t>> followers_of;  // each symbol
};

class RangedGraph {
 public:
  // `graph`: its types are inferred and passes have run. What follows from sizes (Shape, Gather and Concat
  // before a Reshape, say) is computed by nobody any more: it becomes a content that at() fills in.
  explicit RangedGraph(std::unique_ptr<Graph> graph);

  // The graph where its inputs have these types, whose sizes are known. Sizes that only running tells stay
  // expressions. Nothing if these sizes do not determine those of the graph, or do not fit: then it is to be
  // inferred and rewritten for them, which says what is wrong.
  std::optional<SizedGraph> at(const std::vector<ValueType>& inputs) const;

  // Gives the parts of a graph of at() that are different at these sizes. Nothing where at() gives nothing,
  // or where other sizes are known than there.
  std::optional<ResizedNodes> resize(const SizedGraph& from, const std::vector<ValueType>& inputs) const;
  // The same in what resize() gave for other sizes. False where it gives nothing, or would give other nodes:
  // then `nodes` are of no use any more.
  bool resize_again(const SizedGraph& from, const std::vector<ValueType>& inputs, ResizedNodes& nodes) const;

  // Gives the values of symbols that follow from the sizes of inputs; nothing if they contradict each other.
  std::optional<SymbolValues> symbols(const std::vector<ValueType>& inputs) const;

  const Graph& graph() const { return *graph_; }

 private:
  // A small tensor whose elements are expressions.
  struct Content {
    Value* value;  // a constant of graph_, whose elements mean nothing there
    std::vector<Dim> elements;
  };

  void replace_contents();
  SizedGraph sized(std::unique_ptr<Graph> copy, const ValueMap& copies, SymbolValues symbols) const;
  // Whether inference takes the nodes; `among` null: all of them.
  bool fits(Graph& copy, const std::unordered_set<const Node*>* among = nullptr) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Content> contents_;
  std::unordered_map<std::string, uint64_t> structures_;  // of nodes, by their first output
  mutable std::mutex mutex_;
  mutable std::unordered_set<uint64_t> fitting_;  // nodes with operands that inference took
};

}  // namespace vernier
