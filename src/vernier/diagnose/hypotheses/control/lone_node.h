// A node with regions in a graph of its own, so that it runs with changes in what is inside.
#pragma once

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

class LoneNode {
 public:
  // The graph reads what the node and its regions read. Throws unsupported where nobody shows one of these.
  LoneNode(const Member& member, const HypothesisContext& context);

  Node& node() { return *node_; }
  Graph& graph() { return graph_; }
  NamedData& data() { return data_; }
  Value* add_input(const std::string& name, Tensor tensor);
  // Gives what the node makes, by output of the node as it was; undefined for what is no tensor. Throws what
  // the reference throws.
  Tensors run(const InterpreterOptions& options = {}) const;

 private:
  Graph graph_;
  Node* node_ = nullptr;
  NamedData data_;
  size_t count_ = 0;
};

}  // namespace vernier
