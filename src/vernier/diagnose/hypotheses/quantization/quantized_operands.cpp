#include "vernier/diagnose/hypotheses/quantization/quantized_operands.h"

#include <algorithm>
#include <cmath>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

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

std::vector<QuantizedOperand> quantized_operands(const Node& node) {
  using ops::Role;
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr) return {};
  const size_t count = std::max(node.inputs.size(), def->operands.size());
  const auto find = [&](Role role, size_t nth) -> std::optional<size_t> {
    for (size_t i = 0; i < count; ++i) {
      if (def->role(i) == role && nth-- == 0) return i;
    }
    return std::nullopt;
  };
  std::vector<QuantizedOperand> operands;
  size_t data = 0, weights = 0;
  for (size_t i = 0; i < count; ++i) {
    const Role role = def->role(i);
    if (role == Role::kData) {
      operands.push_back({i, find(Role::kScale, data), find(Role::kZeroPoint, data)});
      ++data;
    } else if (role == Role::kWeight) {
      operands.push_back({i, find(Role::kWeightScale, weights), find(Role::kWeightZeroPoint, weights)});
      ++weights;
    } else if (role == Role::kResultScale) {
      operands.push_back({std::nullopt, i, find(Role::kResultZeroPoint, 0)});
    }
  }
  std::erase_if(operands, [](const QuantizedOperand& each) { return !each.scale && !each.zero_point; });
  return operands;
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
