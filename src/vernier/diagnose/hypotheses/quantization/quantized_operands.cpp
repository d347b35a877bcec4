#include "vernier/diagnose/hypotheses/quantization/quantized_operands.h"

#include <algorithm>
#include <cmath>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

using Operands = std::vector<QuantizedOperand>;

QuantizedOperand operand(size_t tensor, size_t scale) {
  return {tensor, scale, scale + 1};
}

QuantizedOperand result(size_t scale) {
  return {std::nullopt, scale, scale + 1};
}

Operands of_joined(const Node& node) {
  Operands operands{result(0)};
  for (size_t i = 2; i + 2 < node.inputs.size(); i += 3) operands.push_back(operand(i, i + 1));
  return operands;
}

// Gives a value of the body of a group as it is called around the group, if it comes from there.
const Value* around(const Value* value, const Node& node) {
  if (value == nullptr || !ops::is_group(node)) return value;
  const Graph& body = ops::body(node);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    if (body.inputs[i] == value) return node.inputs[i];
  }
  return value;
}

// The node that makes a value, and the group that it lies in, which may be another than the flagged one.
struct Maker {
  const Node *node = nullptr, *group = nullptr;

  const Value* input(size_t index) const {
    const Value* value = node->input(index);
    return group == nullptr ? value : around(value, *group);
  }
};

Maker maker_of(const Value* value, const FlaggedNode& flagged) {
  const Value* outer = around(value, *flagged.node);
  const Node* node = outer == nullptr ? nullptr : outer->producer();
  if (node == nullptr || node == flagged.node || !ops::is_group(*node)) return {node};
  const auto made = std::find(node->outputs.begin(), node->outputs.end(), outer);
  const Value* inner = ops::body(*node).outputs[static_cast<size_t>(made - node->outputs.begin())];
  return {inner->producer(), node};
}

}  // namespace

Operands quantized_operands(const Node& node) {
  static const std::map<std::string, Operands, std::less<>> known{
      {"QuantizeLinear", {result(1)}},
      {"DequantizeLinear", {operand(0, 1)}},
      {"MatMulInteger", {{0, std::nullopt, 2}, {1, std::nullopt, 3}}},
      {"ConvInteger", {{0, std::nullopt, 2}, {1, std::nullopt, 3}}},
      {"QLinearMatMul", {operand(0, 1), operand(3, 4), result(6)}},
      {"QLinearConv", {operand(0, 1), operand(3, 4), result(6)}},
      {"QGemm", {operand(0, 1), operand(3, 4), result(7)}},
      {"QLinearAdd", {operand(0, 1), operand(3, 4), result(6)}},
      {"QLinearMul", {operand(0, 1), operand(3, 4), result(6)}},
      {"QLinearSigmoid", {operand(0, 1), result(3)}},
      {"QLinearLeakyRelu", {operand(0, 1), result(3)}},
      {"QLinearSoftmax", {operand(0, 1), result(3)}},
      {"QLinearAveragePool", {operand(0, 1), result(3)}},
      {"QLinearGlobalAveragePool", {operand(0, 1), result(3)}},
      {"MatMulIntegerToFloat", {{0, 2, 4}, {1, 3, 5}}},
  };
  if (node.op == "QLinearConcat") return of_joined(node);
  const auto found = known.find(node.op);
  return found == known.end() ? Operands() : found->second;
}

const Tensor* content_of(const Value* value, const FlaggedNode& flagged, const HypothesisContext& context) {
  if (value == nullptr) return nullptr;
  if (value->is_constant()) return &*value->constant;
  const Value* outer = around(value, *flagged.node);
  for (size_t i = 0; i < flagged.inputs.size(); ++i) {
    if (flagged.node->inputs[i] == outer && flagged.inputs[i].is_defined()) return &flagged.inputs[i];
  }
  if (outer->is_constant()) return &*outer->constant;
  return context.value ? context.value(*outer) : nullptr;
}

std::optional<Dequantized> dequantized(const Value* value, const FlaggedNode& flagged,
                                       const HypothesisContext& context) {
  const Maker maker = maker_of(value, flagged);
  const Node* node = maker.node;
  if (node == nullptr || node->op != "DequantizeLinear") return std::nullopt;
  const Tensor* scale = content_of(maker.input(1), flagged, context);
  if (scale == nullptr || scale->rank() > 1 || node->input(0) == nullptr) return std::nullopt;
  Dequantized found{node, scale->to_doubles(), {}, node->input(0)->type.tensor.element, 0};
  found.zero_points.assign(found.scales.size(), 0);
  if (const Value* given = maker.input(2)) {
    const Tensor* zero_point = content_of(given, flagged, context);
    if (zero_point == nullptr || zero_point->size() != scale->size()) return std::nullopt;
    found.zero_points = zero_point->to_doubles();
  }
  const int64_t axis = ops::integer_attribute(*node, "axis");
  const auto rank = value->type.is_tensor() && value->type.tensor.shape
                        ? static_cast<int64_t>(value->type.tensor.shape->size())
                        : 0;
  found.axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return found;
}

std::vector<double> unrounded_result(const Member& member) {
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < member.input_count(); ++i)
    operands.push_back(member.has(i) ? &member.in(i) : nullptr);
  return unrounded_codes(member.node(), operands).to_doubles();
}

Tensor as_result(const Member& member, std::vector<double> codes) {
  const ops::ValueRange range = ops::value_range(member.out().type());
  for (double& code : codes) code = ops::saturate(std::nearbyint(code), range);
  return Tensor::from_doubles(member.out().type(), member.out().dims(), codes);
}

}  // namespace vernier
