// exp(x - max(x)) / sum(exp(x - max(x))) along one axis is one Softmax, with or without the maximum.
#include "vernier/passes/passes.h"
#include "vernier/passes/recognition/reduction_match.h"

namespace vernier {

namespace {

constexpr int64_t kSoftmaxOpset = 13;

struct Softmax {
  Value* x = nullptr;
  int64_t axis = 0;
  std::vector<Node*> members;
};

std::optional<int64_t> only_axis(const Node& reduction) {
  const auto axes = reduced_axes_of(reduction);
  return axes && axes->size() == 1 && keeps_axes(reduction) ? std::optional(axes->front()) : std::nullopt;
}

std::optional<Softmax> match(Node* quotient) {
  Node* power = maker(quotient->input(0), "Exp");
  Node* sum = maker(quotient->input(1), "ReduceSum");
  if (power == nullptr || sum == nullptr || sum->input(0) != power->output(0)) return std::nullopt;
  const auto axis = only_axis(*sum);
  if (!axis || !is_float(power->output(0)->type.tensor.element)) return std::nullopt;
  Softmax result{power->input(0), *axis, {power, sum}};
  Node* away = maker(result.x, "Sub");
  Node* top = away == nullptr ? nullptr : maker(away->input(1), "ReduceMax");
  if (top != nullptr && top->input(0) == away->input(0) && only_axis(*top) == axis) {
    result.x = away->input(0);
    result.members.insert(result.members.end(), {away, top});
  }
  result.members.push_back(quotient);
  return result;
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<Softmax> found;
  for (const auto& node : graph.nodes()) {
    if (node->op != "Div" || !node->domain.empty()) continue;
    auto softmax = match(node.get());
    if (softmax && is_private(uses, softmax->members)) found.push_back(std::move(*softmax));
  }
  for (const Softmax& softmax : found)
    replace_with(graph, softmax.members, "Softmax", kSoftmaxOpset, {softmax.x},
                 {{"axis", Attribute(softmax.axis)}});
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_softmax() {
  return {"recognise-softmax", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
