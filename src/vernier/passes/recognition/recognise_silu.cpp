// x * Sigmoid(x), which exporters write for SiLU, and x * Sigmoid(alpha * x), which is the quick GELU for
// 1.702, are one Swish.
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kSwishOpset = 24;

struct Silu {
  Value* x = nullptr;
  double alpha = 1;
  std::vector<Node*> members;
};

// `gate` is to be Sigmoid(x) or Sigmoid(alpha * x).
std::optional<Silu> match(Node* product, Value* gate, Value* x) {
  Node* sigmoid = maker(gate, "Sigmoid");
  if (sigmoid == nullptr) return std::nullopt;
  if (sigmoid->input(0) == x) return Silu{x, 1, {sigmoid, product}};
  const auto scaled = product_with_scalar(sigmoid->input(0));
  if (!scaled || scaled->value != x || !same_type(gate, x)) return std::nullopt;
  return Silu{x, scaled->scalar, {scaled->node, sigmoid, product}};
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<Silu> found;
  for (const auto& node : graph.nodes()) {
    if (node->op != "Mul" || !node->domain.empty() || node->inputs.size() != 2) continue;
    auto silu = match(node.get(), node->input(0), node->input(1));
    if (!silu) silu = match(node.get(), node->input(1), node->input(0));
    if (silu && is_private(uses, silu->members)) found.push_back(std::move(*silu));
  }
  for (const Silu& silu : found) {
    AttributeMap attributes;
    if (silu.alpha != 1) attributes["alpha"] = Attribute(static_cast<float>(silu.alpha));
    replace_with(graph, silu.members, "Swish", kSwishOpset, {silu.x}, std::move(attributes));
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
