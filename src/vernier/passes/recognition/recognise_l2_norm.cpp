// sqrt(sum(x * x)) is one ReduceL2.
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/recognition/reduction_match.h"

namespace vernier {

namespace {

constexpr int64_t kReduceOpset = 18;

struct Norm {
  Value* x = nullptr;
  Node* sum = nullptr;
  std::vector<Node*> members;
};

std::optional<Norm> match(Node* root) {
  const bool is_root =
      root->domain.empty() && (root->op == "Sqrt" || (root->op == "Pow" && is_scalar(root->input(1), 0.5)));
  if (!is_root) return std::nullopt;
  if (Node* sum = maker(root->input(0), "ReduceSumSquare")) return Norm{sum->input(0), sum, {sum, root}};
  Node* sum = maker(root->input(0), "ReduceSum");
  const auto squares = sum == nullptr ? std::nullopt : square(sum->input(0));
  if (!squares) return std::nullopt;
  return Norm{squares->value, sum, {squares->node, sum, root}};
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<Norm> found;
  for (const auto& node : graph.nodes()) {
    auto norm = match(node.get());
    if (norm && is_float(norm->x->type.tensor.element) && reduced_axes_of(*norm->sum) &&
        is_private(uses, norm->members))
      found.push_back(std::move(*norm));
  }
  for (const Norm& norm : found) {
    const auto axes = *reduced_axes_of(*norm.sum);
    AttributeMap attributes = {{"keepdims", Attribute(int64_t{keeps_axes(*norm.sum)})}};
    if (axes.empty()) attributes["noop_with_empty_axes"] = Attribute(int64_t{1});
    Value* axes_value =
        graph.add_constant(free_name(graph, norm.members.back()->output(0)->name + "/axes"),
                           Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(axes.size())}, axes));
    replace_with(graph, norm.members, "ReduceL2", kReduceOpset, {norm.x, axes_value}, std::move(attributes));
  }
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_l2_norm() {
  return {"recognise-l2-norm", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
