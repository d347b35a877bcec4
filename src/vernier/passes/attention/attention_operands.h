// The nodes around an Attention that takes the place of a decomposed one: what brings queries, keys and
// values to it, as they lie where that is possible.
#pragma once

#include "vernier/passes/attention/attention_match.h"

namespace vernier {

// Nodes in the making, named after the result that they lead to.
class AttentionNodes {
 public:
  AttentionNodes(Graph& graph, const Node& last);

  std::unique_ptr<Node> start(const std::string& op, int64_t version, const std::string& suffix) const;
  void finish(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }
  // A node of one output.
  Value* add(const std::string& op, int64_t version, std::vector<Value*> inputs, const ValueType& type,
             AttributeMap attributes = {});
  void add_reshape(Value* from, const Shape& dims, Value* to);
  Value* value(const ValueType& type) { return kept(graph_.add_value(next_name(), type)); }
  Value* constant(Tensor tensor) { return kept(graph_.add_constant(next_name(), std::move(tensor))); }
  // `value` under other sizes: an earlier form of it that has them, if there is one.
  Value* viewed(Value* value, const Shape& dims);
  Value* in_order(const HeadsView& view);
  // The node that makes the value, here or in the graph.
  Node* transpose_behind(const Value* value) const;
  // The nodes take over a part of the meaning of these.
  void absorb(const Provenance& provenance) { absorbed_.insert(provenance.begin(), provenance.end()); }
  void absorb(const Node& node) { absorb(node.provenance); }

  // Whether some Reshape needs sizes that are not known yet; then all that was made is to be discarded.
  bool impossible() const { return impossible_; }
  void discard();
  std::vector<std::unique_ptr<Node>> take();

 private:
  std::string next_name();
  Value* kept(Value* made) {
    made_.insert(made);
    return made;
  }

  Graph& graph_;
  std::string stem_, node_stem_;
  int count_ = 0;
  bool impossible_ = false;
  std::set<const Value*> made_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Provenance absorbed_;
};

struct AttentionOperands {
  Value *q = nullptr, *k = nullptr, *v = nullptr;
  bool q_is_packed = false;  // [batch, rows, heads * size], else [batch, heads, rows, size]
  Dim shared_heads;          // of keys and values
};

// `packs`: the result is wanted as [batch, rows, heads * size], if the queries lie so.
AttentionOperands attention_operands(AttentionNodes& nodes, const AttentionMatch& match, bool packs);

bool swaps_heads(const Node* transpose);  // [batch, heads, rows, size] <-> [batch, rows, heads, size]

}  // namespace vernier
