// Removes nodes that yield their input: Identity, Dropout, Cast to the same type, and what moves elements
// nowhere.
#include "vernier/ir/rewriter.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool same_sizes(const Value& a, const Value& b) {
  return a.type.is_tensor() && b.type.is_tensor() && a.type.tensor.shape && a.type.tensor == b.type.tensor;
}

bool is_training_mode(const Node& node) {
  const Value* flag = node.input(2);
  return flag != nullptr && !(flag->is_constant() && flag->constant->to_ints() == std::vector<int64_t>{0});
}

bool is_identity(const Node& node) {
  if (!node.domain.empty() || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  const Value &from = *node.input(0), &to = *node.output(0);
  if (node.op == "Identity") return from.type == to.type;
  if (node.op == "Dropout")
    return node.version >= 7 && !is_training_mode(node) && same_sizes(from, to) &&
           (node.output(1) == nullptr || !is_read(node.graph(), node.output(1)));
  if (node.op == "Cast" || node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
      node.op == "Flatten" || node.op == "Expand")
    return same_sizes(from, to);
  if (node.op == "Transpose" && same_sizes(from, to)) {
    const auto order = node.attribute<std::vector<int64_t>>("perm", {});
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<int64_t>(i)) return false;
    }
    return !order.empty();
  }
  return false;
}

int remove_in(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes()) {
    if (is_identity(*node)) found.push_back(node.get());
  }
  Rewriter rewriter(graph);
  int removed = 0;
  for (Node* node : found) removed += rewriter.forward(node, node->input(0)) ? 1 : 0;
  return removed;
}

}  // namespace

Pass remove_identities() {
  return {"remove-identities", NumericalClass::kExact, [](Graph& graph) {
            int removed = 0;
            for_each_graph(graph, [&](Graph& inner) { removed += remove_in(inner); });
            return removed;
          }};
}

}  // namespace vernier
