// In a chain of operators that only give new sizes the last is enough.
#include "vernier/ir/rewriter.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool is_view(const Node* node) {
  static const std::set<std::string_view> kViews{"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
  return node != nullptr && node->domain.empty() && kViews.contains(node->op);
}

// In topological order: what is behind `node` is one view already.
bool remove(Graph& graph, Node* node) {
  const Node* before = node->input(0)->producer();
  if (!is_view(before)) return false;
  Value* from = before->input(0);
  const auto shape = shape_of(from), wanted = shape_of(node->output(0));
  const auto target = shape && wanted ? reshape_target(*shape, *wanted) : std::nullopt;
  if (!target || element_count(*wanted) == Dim(0)) return false;
  node->provenance.insert(before->provenance.begin(), before->provenance.end());
  if (shape == wanted && Rewriter(graph).forward(node, from)) return true;
  auto reshape = make_reshape(graph, from, *target, node->output(0));
  reshape->name = node->name;
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(reshape));
  Rewriter(graph).replace({node}, std::move(replacement));
  return true;
}

int remove_in(Graph& graph) {
  std::vector<Node*> views;
  for (const auto& node : graph.nodes()) {
    if (is_view(node.get())) views.push_back(node.get());
  }
  int removed = 0;
  for (Node* node : views) removed += remove(graph, node) ? 1 : 0;
  return removed;
}

}  // namespace

Pass remove_views() {
  return {"remove-views", NumericalClass::kExact, [](Graph& graph) {
            int removed = 0;
            for_each_graph(graph, [&](Graph& inner) { removed += remove_in(inner); });
            return removed;
          }};
}

}  // namespace vernier
