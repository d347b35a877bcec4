// Transpose of Transpose is one, or none. One that changes the place of axes of size 1 only is a Reshape,
// which costs nothing.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/support/movement/permutation.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kIdentityOpset = 14;

bool is_identity(const std::vector<size_t>& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

bool put(Graph& graph, Node* old, std::unique_ptr<Node> by) {
  by->name = old->name;
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(by));
  Rewriter(graph).replace({old}, std::move(replacement));
  return true;
}

// In topological order: what is behind `node` is merged already.
bool merge(Graph& graph, Node* node) {
  auto perm = transposition(node);
  if (!perm) return false;
  Value* from = node->input(0);
  const auto first = transposition(from->producer());
  if (first) {
    const Node& before = *from->producer();
    from = before.input(0);
    perm = ops::permuted(*first, *perm);
    node->provenance.insert(before.provenance.begin(), before.provenance.end());
  }
  if (is_identity(*perm))
    return Rewriter(graph).forward(node, from) ||
           put(graph, node, make_node("Identity", kIdentityOpset, {from}, node->output(0)));
  const auto dims = known_dims(*from);
  if (dims && ops::keeps_order(*dims, *perm) && element_count(*dims) > 0)
    return put(graph, node, make_reshape(graph, from, ops::permuted(*dims, *perm), node->output(0)));
  return first && put(graph, node, make_transpose(from, *perm, node->output(0)));
}

int merge_in(Graph& graph) {
  std::vector<Node*> transposes;
  for (const auto& node : graph.nodes()) {
    if (node->op == "Transpose") transposes.push_back(node.get());
  }
  int merged = 0;
  for (Node* node : transposes) merged += merge(graph, node) ? 1 : 0;
  return merged;
}

}  // namespace

Pass merge_transposes() {
  return {"merge-transposes", NumericalClass::kExact, [](Graph& graph) {
            int merged = 0;
            for_each_graph(graph, [&](Graph& inner) { merged += merge_in(inner); });
            return merged;
          }};
}

}  // namespace vernier
