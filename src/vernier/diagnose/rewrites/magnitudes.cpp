#include "vernier/diagnose/rewrites/magnitudes.h"

#include <cmath>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/rewrites/replacement.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

double largest(const Tensor& tensor) {
  double most = 0;
  for (const double value : tensor.to_doubles()) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

bool is_number(const Datum& datum) {
  return datum.is_tensor() && datum.tensor.is_defined() && is_float(datum.tensor.type());
}

Tensor absolute(const Tensor& tensor) {
  auto values = tensor.to_doubles();
  for (double& value : values) value = std::abs(value);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

// Gives what the node makes of absolute values; a mean counts as its sum.
double sum_of(const Node& node, std::span<const Datum* const> operands) {
  std::vector<Tensor> held;
  held.reserve(operands.size());
  std::vector<const Tensor*> given;
  for (const Datum* operand : operands) {
    if (operand == nullptr || !operand->is_tensor()) {
      given.push_back(nullptr);
    } else if (is_float(operand->tensor.type())) {
      held.push_back(absolute(operand->tensor));
      given.push_back(&held.back());
    } else {
      given.push_back(&operand->tensor);
    }
  }
  const auto made = ops::evaluate(node, given, ops::ReferenceMode::kIdeal).at(0).tensor;
  double factor = 1;
  if (node.op == "ReduceMean" && made.size() > 0)
    factor = static_cast<double>(operands[0]->tensor.size()) / static_cast<double>(made.size());
  return factor * largest(made);
}

}  // namespace

Magnitudes magnitudes_of(const Graph& graph, const NamedData& inputs) {
  Magnitudes found;
  for (const auto& value : graph.values()) {
    if (value->is_constant() && is_float(value->constant->type()))
      found.values[value->name] = largest(*value->constant);
  }
  for (const auto& [name, datum] : inputs) {
    if (is_number(datum)) found.values[name] = largest(datum.tensor);
  }
  InterpreterOptions options;
  options.mode = ReferenceMode::kIdeal;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (is_number(datum)) found.values[value.name] = largest(datum.tensor);
  };
  options.revise = [&](const Node& node, std::span<const Datum* const> operands, std::vector<Datum>&) {
    const bool reduces = node.domain.empty() && (node.op == "ReduceSum" || node.op == "ReduceMean");
    if (reduces || ops::has_trait(node, ops::kProducts)) found.sums[node.name] = sum_of(node, operands);
  };
  run_reference(graph, inputs, options);
  return found;
}

}  // namespace vernier
