#include <algorithm>
#include <cmath>

#include "vernier/ops/evaluate.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/support/quant/dynamic_quantization.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

using Operands = std::vector<std::optional<DecisionInput>>;

ElementType type_of(const Value* value) {
  return value != nullptr && value->type.is_tensor() ? value->type.tensor.element : ElementType::kUndefined;
}

bool is_exact(const DecisionInput& operand) {
  return std::all_of(operand.errors.begin(), operand.errors.end(), [](double error) { return error == 0; });
}

// The node in ideal mode, its first operand moved by `sign` times its errors.
std::vector<double> steps(const Node& node, const Operands& operands, double sign) {
  std::vector<Tensor> tensors(operands.size());
  std::vector<const Tensor*> inputs(operands.size(), nullptr);
  std::vector<ElementType> declared(operands.size(), ElementType::kUndefined);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    declared[i] = type_of(node.inputs[i]);
    const ElementType stored = is_float(declared[i]) ? ElementType::kDouble : declared[i];
    std::vector<double> values = operands[i]->values;
    if (i == 0 && sign != 0) {
      for (size_t at = 0; at < values.size(); ++at) values[at] += sign * operands[i]->errors[at];
    }
    tensors[i] = Tensor::from_doubles(stored, operands[i]->dims, values);
    inputs[i] = &tensors[i];
  }
  return ops::evaluate(node, inputs, ops::ReferenceMode::kIdeal, declared).at(0).tensor.to_doubles();
}

// By how much the errors of what is quantized move each element.
std::vector<double> moved(const Node& node, const Operands& operands, const std::vector<double>& unrounded) {
  const DecisionInput& x = *operands[0];
  std::vector<double> errors(unrounded.size(), 0);
  if (is_exact(x)) return errors;
  if (node.op == "DynamicQuantizeLinear") {
    const double scale = ops::dynamic_affine(x.values, true).scale;
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = x.errors[i] / scale;
    return errors;
  }
  const auto up = steps(node, operands, 1);
  for (size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(up[i] - unrounded[i]);
  return errors;
}

// Four roundings of floats as large as the integers are, beside zero points of the same size.
double arithmetic_error(double value, ElementType type) {
  constexpr double kRoundings = 4, kUnitRoundoff = 0x1p-24;
  return kRoundings * kUnitRoundoff * (std::abs(value) + std::ldexp(1.0, element_bits(type)));
}

bool lies_between(double value) {
  return std::abs(value - std::floor(value) - 0.5) == 0;
}

}  // namespace

bool quantizes(const Node& node) {
  if (!node.domain.empty() && node.domain != "com.microsoft") return false;
  const ElementType type = type_of(node.output(0));
  if (type == ElementType::kUndefined || !is_integer(type) || element_bits(type) > 16) return false;
  return node.op == "DynamicQuantizeLinear" || ops::input_of(node, ops::Role::kResultScale);
}

std::optional<DecisionInput> before_rounding(const Node& node, const Operands& operands) {
  const bool of_floats = node.op == "QuantizeLinear" || node.op == "DynamicQuantizeLinear";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == nullptr) continue;
    const bool known =
        i < operands.size() && operands[i] && type_of(node.inputs[i]) != ElementType::kUndefined;
    if (!known || (!(of_floats && i == 0) && !is_exact(*operands[i]))) return std::nullopt;
  }
  try {
    DecisionInput result{{}, steps(node, operands, 0), {}};
    result.errors = moved(node, operands, result.values);
    constexpr double kMostOfNoise = 1.0 / 16;
    for (size_t i = 0; i < result.values.size(); ++i) {
      if (!operands[0]->is_shown) result.errors[i] = std::min(result.errors[i], kMostOfNoise);
      if (result.errors[i] > 0 || !lies_between(result.values[i]))
        result.errors[i] += arithmetic_error(result.values[i], type_of(node.output(0)));
    }
    return result;
  } catch (const Error&) {
    return std::nullopt;  // the operands are none that the operator takes
  }
}

}  // namespace vernier
