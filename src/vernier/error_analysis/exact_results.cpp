// Results that need no rounding: those of one operation that their type holds, and sums of whole numbers.
#include "vernier/error_analysis/exact_results.h"

#include <algorithm>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/exact_sums.h"
#include "vernier/ops/group.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

bool has_no_error(const ElementErrors* operand) {
  return operand == nullptr ||
         std::all_of(operand->error.begin(), operand->error.end(), [](double error) { return error == 0; });
}

// Split or rounded factors, and those of a transform, are other numbers than the operands.
bool sums_exactly(const AnalysedNode& node) {
  const NumericsContract& contract = node.contract;
  if (contract.operands.is_defined() || contract.winograd > 0) return false;
  std::vector<const Tensor*> operands;
  std::vector<ElementType> declared;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const Value* input = node.node.inputs[i];
    operands.push_back(node.has(i) ? &node.in[i]->value : nullptr);
    declared.push_back(input != nullptr && input->type.is_tensor() ? input->type.tensor.element
                                                                   : ElementType::kUndefined);
  }
  const bool in_floats = is_float(contract.accumulated);
  return ops::sums_exactly(node.node, operands, declared,
                           in_floats ? contract.accumulated : contract.computed);
}

}  // namespace

void keep_exact_results(const AnalysedNode& node, ElementType type, std::vector<double>& errors) {
  const bool sums = ops::has_trait(node.node, ops::kSums);
  if (errors.empty() || !(sums || ops::has_trait(node.node, ops::kRoundsOnce))) return;
  if (!std::all_of(node.in.begin(), node.in.end(), has_no_error)) return;
  if (sums && !sums_exactly(node)) return;
  const Doubles values(*node.out[0]);
  const RoundingError rounding(type);
  for_each_element(errors.size(), [&](size_t i) {
    if (rounding.is_exact(values[i])) errors[i] = 0;
  });
}

void keep_exact_results(const Node& node, const std::vector<Tensor>& inputs, const NumericsContract& contract,
                        ElementErrors& errors) {
  if (ops::is_group(node) || errors.is_exact()) return;
  std::vector<ElementErrors> operands;
  operands.reserve(inputs.size());
  for (const Tensor& input : inputs) operands.push_back({input, {}});
  AnalysedNode analysed{node, {}, {&errors.value}, contract, true};
  for (const ElementErrors& operand : operands)
    analysed.in.push_back(operand.value.is_defined() ? &operand : nullptr);
  keep_exact_results(analysed, node.output(0)->type.tensor.element, errors.error);
}

}  // namespace vernier
