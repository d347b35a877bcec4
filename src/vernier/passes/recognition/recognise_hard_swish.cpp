// x * Clip(x + 3, 0, 6) / 6, in whatever order, and x * HardSigmoid(x) with the slope 1 / 6 are one
// HardSwish.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kHardSwishOpset = 22;

bool clips_0_to_6(const Node& node) {
  if (node.version >= 11) return scalar_of(node.input(1)) == 0.0 && scalar_of(node.input(2)) == 6.0;
  return ops::clip_bound_attribute(node, "min") == 0.0F && ops::clip_bound_attribute(node, "max") == 6.0F;
}

// The nodes of x * gate; `gate` is a Clip or a HardSigmoid.
std::vector<Node*> match(Node* gate, Value*& x, const Uses& uses) {
  std::vector<Node*> members;
  double scale = 1;
  x = gate->input(0);
  if (gate->op == "Clip") {
    const auto sum = sum_with_scalar(x);
    if (!sum || sum->scalar != 3 || !clips_0_to_6(*gate)) return {};
    members.push_back(sum->node);
    x = sum->value;
    scale = 1.0 / 6;
  } else if (x->type.tensor.element == ElementType::kDouble) {
    return {};  // the slope is a float, which 1 / 6 is not
  } else if (!is_near(ops::real_attribute(*gate, "alpha"), 1.0 / 6) ||
             ops::real_attribute(*gate, "beta") != 0.5F) {
    return {};
  }
  members.push_back(gate);
  const auto around = product_around(uses, gate->output(0), scale);
  if (!around || around->other != x || !same_type(x, around->nodes.back()->output(0))) return {};
  members.insert(members.end(), around->beside.begin(), around->beside.end());
  members.insert(members.end(), around->nodes.begin(), around->nodes.end());
  return is_private(uses, members) ? members : std::vector<Node*>();
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::pair<Value*, std::vector<Node*>>> found;
  for (const auto& node : graph.nodes()) {
    if (!node->domain.empty() || (node->op != "Clip" && node->op != "HardSigmoid")) continue;
    Value* x = nullptr;
    auto members = match(node.get(), x, uses);
    if (!members.empty()) found.emplace_back(x, std::move(members));
  }
  for (const auto& [x, members] : found) replace_with(graph, members, "HardSwish", kHardSwishOpset, {x});
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_hard_swish() {
  return {"recognise-hard-swish", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
