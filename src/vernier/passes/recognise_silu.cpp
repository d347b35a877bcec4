// x * Sigmoid(x), which exporters write for SiLU, is one Swish.
#include "vernier/ir/rewriter.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

constexpr int64_t kSwishOpset = 24;

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::pair<Node*, Node*>> found;
  for (const auto& node : graph.nodes()) {
    if (node->op != "Mul" || !node->domain.empty() || node->inputs.size() != 2) continue;
    for (const size_t side : {0, 1}) {
      Value *gate = node->input(side), *x = node->input(1 - side);
      Node* sigmoid = gate->producer();
      if (sigmoid == nullptr || sigmoid->op != "Sigmoid" || !sigmoid->domain.empty() ||
          sigmoid->input(0) != x || uses.only_reader(gate) != node.get())
        continue;
      found.emplace_back(sigmoid, node.get());
      break;
    }
  }
  for (const auto& [sigmoid, product] : found) {
    auto swish = std::make_unique<Node>();
    swish->name = product->name;
    swish->op = "Swish";
    swish->version = kSwishOpset;
    swish->inputs = {sigmoid->input(0)};
    swish->outputs = {product->output(0)};
    std::vector<std::unique_ptr<Node>> replacement;
    replacement.push_back(std::move(swish));
    Rewriter(graph).replace({sigmoid, product}, std::move(replacement));
  }
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_silu() {
  return {"recognise-silu", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
