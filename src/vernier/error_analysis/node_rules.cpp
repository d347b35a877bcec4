#include "vernier/error_analysis/node_rules.h"

#include <algorithm>

#include "vernier/ops/evaluate.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

ElementType declared_type(const Value* value) {
  return value == nullptr || !value->type.is_tensor() ? ElementType::kUndefined : value->type.tensor.element;
}

bool makes_quantized(const Node& node) {
  return ops::operand(node, ops::Role::kResultScale) != nullptr || node.op == "DynamicQuantizeLinear";
}

std::vector<Tensor> evaluate_in(ops::ReferenceMode mode, const Node& node,
                                const std::vector<const Tensor*>& operands) {
  std::vector<ElementType> declared;
  for (const Value* input : node.inputs) declared.push_back(declared_type(input));
  std::vector<Tensor> results;
  for (Datum& result : ops::evaluate(node, operands, mode, declared))
    results.push_back(result.is_tensor() ? std::move(result.tensor) : Tensor());
  return results;
}

}  // namespace

ErrorRule rule_of(const Node& node) {
  const uint32_t traits = ops::OpRegistry::instance().require(node).traits;
  if ((traits & (ops::kView | ops::kDataMovement)) != 0) return ErrorRule::kCopies;
  if (makes_quantized(node)) return ErrorRule::kQuantizes;
  if ((traits & ops::kProducts) != 0 && is_float(declared_type(node.output(0)))) return ErrorRule::kProducts;
  if ((traits & ops::kPointwise) != 0) return ErrorRule::kPointwise;
  // Equal elements of exact operands stay equal, and a rule says in which order they come.
  return (traits & ops::kRoundsNothing) != 0 ? ErrorRule::kSelects : ErrorRule::kPerturbed;
}

bool AnalysedNode::is_exact() const {
  return std::all_of(in.begin(), in.end(),
                     [](const auto* each) { return each == nullptr || each->is_exact(); });
}

std::vector<Tensor> AnalysedNode::evaluate(const std::vector<const Tensor*>& operands) const {
  std::vector<const Tensor*> given;
  for (size_t i = 0; i < in.size(); ++i)
    given.push_back(i < operands.size() && operands[i] != nullptr ? operands[i]
                    : in[i] != nullptr                            ? &in[i]->value
                                                                  : nullptr);
  return evaluate_unrounded(node, given);
}

std::vector<Tensor> evaluate_unrounded(const Node& node, const std::vector<const Tensor*>& operands) {
  // A result of integers or flags is made as the model says: those are never stored as anything else.
  const bool is_real = is_float(declared_type(node.output(0)));
  const auto mode = is_real ? ops::ReferenceMode::kIdeal : ops::ReferenceMode::kDeclared;
  return evaluate_in(mode, node, operands);
}

Tensor unrounded_codes(const Node& node, const std::vector<const Tensor*>& operands) {
  return evaluate_in(ops::ReferenceMode::kIdeal, node, operands).at(0);
}

Tensor stored_as_doubles(const Tensor& tensor) {
  Tensor copy = tensor;
  if (tensor.type() == ElementType::kDouble) {
    copy.mutable_raw();
    return copy;
  }
  copy = Tensor(ElementType::kDouble, tensor.dims());
  const auto to = copy.mutable_values<double>();
  if (to.empty()) return copy;
  constexpr int64_t kGrain = 1 << 13;
  parallel_for(tensor.size(), kGrain, [&](int64_t begin, int64_t end) {
    tensor.read_doubles(begin, to.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  return copy;
}

void add_independent(std::vector<double>& errors, std::span<const double> more) {
  if (more.empty()) return;
  if (errors.empty()) errors.resize(more.size(), 0);
  for_each_element(more.size(), [&](size_t i) { errors[i] = root_of_squares(errors[i], more[i]); });
}

}  // namespace vernier
