// Equal nodes of equal inputs compute the same values: the first serves all.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool computes_the_same(const Node& a, const Node& b) {
  return a.op == b.op && a.domain == b.domain && a.version == b.version && a.inputs == b.inputs &&
         a.outputs.size() == b.outputs.size() && a.attributes == b.attributes;
}

int merge_in(Graph& graph) {
  std::map<std::pair<std::string, const Value*>, std::vector<Node*>> seen;
  std::vector<std::pair<Node*, Node*>> pairs;
  for (const auto& node : graph.nodes()) {
    const auto* def = ops::OpRegistry::instance().find(*node);
    if (def == nullptr || !node->regions.empty() || node->outputs.size() != 1 ||
        (def->traits & ops::kNondeterministic) != 0)
      continue;
    auto& alike = seen[{node->op, node->input(0)}];
    const auto twin = std::find_if(alike.begin(), alike.end(),
                                   [&](const Node* other) { return computes_the_same(*other, *node); });
    if (twin != alike.end())
      pairs.emplace_back(node.get(), *twin);
    else
      alike.push_back(node.get());
  }
  Rewriter rewriter(graph);
  int merged = 0;
  for (const auto& [node, twin] : pairs) merged += rewriter.forward(node, twin->output(0)) ? 1 : 0;
  return merged;
}

}  // namespace

Pass merge_common_nodes() {
  return {"merge-common-nodes", NumericalClass::kExact, [](Graph& graph) {
            int merged = 0;
            for_each_graph(graph, [&](Graph& inner) {
              for (int now = 1; now > 0; merged += now) now = merge_in(inner);
            });
            return merged;
          }};
}

}  // namespace vernier
