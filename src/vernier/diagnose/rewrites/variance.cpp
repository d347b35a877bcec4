#include <algorithm>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/match.h"

namespace vernier {

namespace {

const Node* mean_at(const Value* value) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->domain.empty() && node->op == "ReduceMean" ? node : nullptr;
}

std::vector<int64_t> axes_of(const Node& mean) {
  const Tensor* held = constant_of(mean.input(1));
  return held != nullptr ? held->to_ints() : mean.attribute<std::vector<int64_t>>("axes", {});
}

// mean(x * x) - mean(x) * mean(x)
bool write_variance(Replacement& node) {
  const Node& own = node.node();
  const Node* of_squares = mean_at(own.input(0));
  const auto of_mean = square(own.input(1));
  const Node* mean = of_mean ? mean_at(of_mean->value) : nullptr;
  if (own.op != "Sub" || of_squares == nullptr || mean == nullptr) return false;
  const auto squared = square(of_squares->input(0));
  if (!squared || squared->value != mean->input(0) || axes_of(*of_squares) != axes_of(*mean)) return false;
  Value* less = node("Sub", {mean->input(0), node.reduce("ReduceMean", mean->input(0), axes_of(*mean))});
  node.reduce("ReduceMean", node("Mul", {less, less}), axes_of(*mean),
              ops::integer_attribute(*mean, "keepdims") != 0);
  return true;
}

}  // namespace

bool two_passes(Model& model, const std::vector<std::string>& nodes) {
  // The difference, or what is made of the mean of squares that is named.
  std::vector<Node*> found;
  for (Node* node : nodes_of(model, nodes)) {
    for (const auto& each : node->graph().nodes()) {
      const bool reads =
          std::find(each->inputs.begin(), each->inputs.end(), node->output(0)) != each->inputs.end();
      const bool fits = each->op == "Sub" && (each.get() == node || reads);
      if (fits && std::find(found.begin(), found.end(), each.get()) == found.end())
        found.push_back(each.get());
    }
  }
  return rewrite_each(model, found, write_variance);
}

}  // namespace vernier
