#include "vernier/precision/known_values.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/build.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

// The least number that a narrow type rounds to infinity.
float overflow_of(ElementType narrow) {
  constexpr float kHalf = 65520, kBrain = 0x1.FFp127F;
  return narrow == ElementType::kFloat16 ? kHalf : kBrain;
}

bool overflows(const std::optional<Tensor>& constant, ElementType narrow) {
  if (!constant || constant->type() != ElementType::kFloat) return false;
  const auto values = constant->values<float>();
  return std::any_of(values.begin(), values.end(), [least = overflow_of(narrow)](float value) {
    return std::abs(value) >= least && std::isfinite(value);
  });
}

// These operators give small results for large numbers, and the same for infinite ones.
bool bounds_what_it_reads(const Node& node) {
  static const std::set<std::string_view> ops = {"Clip",       "Erf",     "Exp",      "HardSigmoid",
                                                 "Reciprocal", "Sigmoid", "Softsign", "Tanh"};
  return ops.contains(node.op);
}

bool works_by_element(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & (ops::kPointwise | ops::kView | ops::kDataMovement)) != 0;
}

}  // namespace

KnownValues::KnownValues(const Graph& graph, ElementType narrow) : narrow_(narrow) {
  for (const auto& node : graph.nodes()) {
    if (narrow != ElementType::kUndefined) follow_large(*node);
    follow_constants(*node);
  }
}

void KnownValues::follow_large(const Node& node) {
  const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    return large_.contains(input) ||
           (element_of(input) == ElementType::kFloat && overflows(known_content(input), narrow_));
  });
  const bool fills = node.op == "ConstantOfShape" && overflows(ops::constant_of_shape_value(node), narrow_);
  if ((!reads && !fills) || bounds_what_it_reads(node)) return;
  meets_large_.insert(&node);
  if (!fills && !works_by_element(node)) return;
  large_.insert(node.outputs.begin(), node.outputs.end());
  large_.erase(nullptr);  // an output that is left out
}

void KnownValues::follow_constants(const Node& node) {
  const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    return input == nullptr || constants_.contains(input) || known_content(input).has_value();
  });
  if (!known || !only_moves(node) || node.inputs.empty()) return;
  moves_constants_.insert(&node);
  constants_.insert(node.outputs.begin(), node.outputs.end());
}

}  // namespace vernier
