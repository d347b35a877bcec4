// Exporters compute what a Reshape is told from Shape, size by size. Where the sizes are those of its input,
// and known ones, a constant says the same, and nothing has to be computed when a model of free sizes runs.
#include "vernier/ir/rewriter.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

std::optional<Dims> constant_target(const Node& node) {
  if (node.op != "Reshape" || !node.domain.empty() || node.input(1) == nullptr ||
      node.input(1)->is_constant())
    return std::nullopt;
  const auto from = shape_of(node.input(0)), to = shape_of(node.output(0));
  return from && to ? reshape_target(*from, *to) : std::nullopt;
}

int settle_in(Graph& graph) {
  std::vector<std::pair<Node*, Dims>> found;
  for (const auto& node : graph.nodes()) {
    if (auto target = constant_target(*node)) found.emplace_back(node.get(), std::move(*target));
  }
  for (const auto& [node, target] : found) {
    auto reshape = make_reshape(graph, node->input(0), target, node->output(0));
    reshape->name = node->name;
    std::vector<std::unique_ptr<Node>> replacement;
    replacement.push_back(std::move(reshape));
    Rewriter(graph).replace({node}, std::move(replacement));
  }
  return static_cast<int>(found.size());
}

}  // namespace

Pass constant_reshapes() {
  return {"constant-reshapes", NumericalClass::kExact, [](Graph& graph) {
            int settled = 0;
            for_each_graph(graph, [&](Graph& inner) { settled += settle_in(inner); });
            return settled;
          }};
}

}  // namespace vernier
