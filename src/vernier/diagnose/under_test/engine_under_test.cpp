#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

NamedData default_inputs(const Graph& graph) {
  NamedData defaults;
  for (const Value* input : graph.inputs) {
    if (input->is_constant()) defaults[input->name] = *input->constant;
  }
  return defaults;
}

NumericsContract float_contract(const Node& node) {
  const Value* result = node.output(0);
  NumericsContract contract;
  if (result == nullptr || !result->type.is_tensor()) return contract;
  contract.stored = result->type.tensor.element;
  contract.computed = contract.accumulated =
      contract.stored == ElementType::kDouble ? ElementType::kDouble : ElementType::kFloat;
  contract.order = NumericsContract::Order::kSequential;
  contract.approximate = true;
  return contract;
}

}  // namespace vernier
