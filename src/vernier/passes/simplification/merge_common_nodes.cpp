// Equal nodes of equal inputs compute the same values: the first serves all.
#include <cstring>

#include "vernier/ir/rewriter.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// Whether both are small constants of the same type and content, and no inputs with defaults: exporters write
// axes, bounds and scalars anew for each layer.
bool are_equal_constants(const Value* a, const Value* b) {
  constexpr size_t kSmall = 512;  // bytes
  const auto left = known_content(a), right = known_content(b);
  return left && right && left->type() == right->type() && left->type() != ElementType::kString &&
         left->dims() == right->dims() && left->byte_size() <= kSmall &&
         std::memcmp(left->raw(), right->raw(), left->byte_size()) == 0;
}

bool reads_the_same(const Node& a, const Node& b) {
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](const Value* left, const Value* right) {
                      return left == right || are_equal_constants(left, right);
                    });
}

bool computes_the_same(const Node& a, const Node& b) {
  return a.op == b.op && a.domain == b.domain && a.version == b.version &&
         a.outputs.size() == b.outputs.size() && reads_the_same(a, b) && a.attributes == b.attributes;
}

int merge_in(Graph& graph) {
  std::map<std::pair<std::string, const Value*>, std::vector<Node*>> seen;
  std::vector<std::pair<Node*, Node*>> pairs;
  for (const auto& node : graph.nodes()) {
    const auto* def = ops::OpRegistry::instance().find(*node);
    if (def == nullptr || !node->regions.empty() || node->outputs.size() != 1 ||
        (def->traits & ops::kNondeterministic) != 0)
      continue;
    const Value* first = node->input(0);
    auto& alike = seen[{node->op, first != nullptr && first->is_constant() ? nullptr : first}];
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
