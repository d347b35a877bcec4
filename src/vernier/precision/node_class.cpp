#include "vernier/precision/node_class.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

bool is_of_class(const Node& node, ops::PrecisionClass precision) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && def->precision == precision;
}

}  // namespace

ElementType element_of(const Value* value) {
  return value != nullptr && value->type.is_tensor() ? value->type.tensor.element : ElementType::kUndefined;
}

bool multiplies_codes(const Node& node) {
  return ops::has_trait(node, ops::kProducts) && node.op != "ConvTranspose";
}

bool reads_dequantized(const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [](const Value* input) {
    const Node* maker = input == nullptr ? nullptr : input->producer();
    return maker != nullptr && maker->op == "DequantizeLinear";
  });
}

const Value* main_output(const Node& node) {
  for (const Value* output : node.outputs) {
    if (is_float(element_of(output))) return output;
  }
  return node.output(0);
}

NodeClass class_of(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  const bool known = node.domain.empty() || (node.domain == ops::kInternalDomain && !ops::is_group(node));
  if (def == nullptr || !known) return {Lowering::kNever, "no operator of ai.onnx"};
  if (!node.regions.empty()) return {Lowering::kNever, "control flow"};
  constexpr uint32_t kLight = ops::kPointwise | ops::kView | ops::kDataMovement;
  switch (def->precision) {
    case ops::PrecisionClass::kAlways: return {Lowering::kAlways, "a contraction"};
    case ops::PrecisionClass::kComputedWide: return {Lowering::kFollow, "computed in f32, rounded once"};
    case ops::PrecisionClass::kBounded: return {Lowering::kFollow, "bounded by what it reads"};
    case ops::PrecisionClass::kStatesType: return {Lowering::kNever, "states its type itself"};
    case ops::PrecisionClass::kNeverLower: return {Lowering::kNever, "its range or its rounding matters"};
    case ops::PrecisionClass::kUntried: break;
    case ops::PrecisionClass::kByTraits:
      if ((def->traits & kLight) != 0) return {Lowering::kFollow, "element by element"};
  }
  return {Lowering::kNever, "not known to bear narrow types"};
}

std::optional<int64_t> opset_of_type(const Node& node, ElementType type) {
  const auto* def = node.domain.empty() ? ops::OpRegistry::instance().find(node) : nullptr;
  const int opset = def == nullptr                   ? 0
                    : type == ElementType::kBFloat16 ? def->since.bfloat16
                                                     : def->since.float16;
  return opset > 0 ? std::optional<int64_t>(opset) : std::nullopt;
}

bool states_type(const Node& node) {
  return is_of_class(node, ops::PrecisionClass::kStatesType);
}

bool only_moves(const Node& node) {
  return ops::has_trait(node, ops::kView | ops::kDataMovement);
}

bool selects_elements(const Node& node) {
  const bool resizes = node.op == "Resize" || node.op == "Upsample";
  if (resizes) return ops::text_attribute(node, "mode") == "nearest";
  const bool selects = ops::has_trait(node, ops::kRoundsNothing);
  return only_moves(node) || (selects && is_of_class(node, ops::PrecisionClass::kBounded));
}

bool shares_type(const Node& node, size_t input) {
  using ops::Role;
  return !ops::has_role(node, input,
                        {Role::kSizes, Role::kMean, Role::kVariance, Role::kMask, Role::kSetting});
}

bool reads_sizes_only(const Node& node) {
  return ops::has_trait(node, ops::kReadsSizes);
}

bool takes_any_float(const Node& node) {
  constexpr int64_t kIsNanOfAll = 13;
  const bool is_nan = node.op == "IsNaN" && node.version >= kIsNanOfAll;
  return node.domain.empty() && (reads_sizes_only(node) || node.op == "Cast" || is_nan);
}

}  // namespace vernier
