#include "vernier/precision/node_class.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

// Kernels of these compute in floats and round once, so they may follow although a chain of narrow operators
// in their place must not.
constexpr std::string_view kComputedWide[] = {"Softmax",
                                              "LayerNormalization",
                                              "RMSNormalization",
                                              "GroupNormalization",
                                              "InstanceNormalization",
                                              "BatchNormalization",
                                              "MeanVarianceNormalization",
                                              "AveragePool",
                                              "GlobalAveragePool",
                                              "ReduceMean"};
// Extrema, and interpolation between neighbours: what they give is no larger than what they read.
constexpr std::string_view kBounded[] = {"MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "Resize"};
constexpr std::string_view kExtrema[] = {"MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "Max", "Min"};

// Operators that an attribute or an input gives the type of what they make.
constexpr std::string_view kStatesType[] = {
    "Bernoulli",         "BitCast",       "BlackmanWindow",   "Cast",
    "CastLike",          "Constant",      "ConstantOfShape",  "DequantizeLinear",
    "EyeLike",           "HammingWindow", "HannWindow",       "MelWeightMatrix",
    "Multinomial",       "RandomNormal",  "RandomNormalLike", "RandomUniform",
    "RandomUniformLike", "Range"};

bool is_one_of(std::string_view op, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

// Inputs that have a type of their own.
struct OwnType {
  std::string_view op;
  std::initializer_list<size_t> inputs;
};
const OwnType kOwnTypes[] = {
    {"Resize", {1, 2}}, {"Upsample", {1}}, {"BatchNormalization", {3, 4}},
    {"Attention", {3}}, {"Dropout", {1}},
};

}  // namespace

ElementType element_of(const Value* value) {
  return value != nullptr && value->type.is_tensor() ? value->type.tensor.element : ElementType::kUndefined;
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
  if (def->precision == ops::PrecisionClass::kAlways && (def->traits & ops::kContraction) != 0)
    return {Lowering::kAlways, "a contraction"};
  if (states_type(node)) return {Lowering::kNever, "states its type itself"};
  if (is_one_of(node.op, kComputedWide)) return {Lowering::kFollow, "computed in f32, rounded once"};
  if (is_one_of(node.op, kBounded)) return {Lowering::kFollow, "bounded by what it reads"};
  if (def->precision == ops::PrecisionClass::kNeverLower)
    return {Lowering::kNever, "its range or its rounding matters"};
  if (node.op.find("QuantizeLinear") != std::string::npos) return {Lowering::kNever, "quantization"};
  constexpr uint32_t kLight = ops::kPointwise | ops::kView | ops::kDataMovement | ops::kNormalisation;
  if ((def->traits & kLight) != 0) return {Lowering::kFollow, "element by element"};
  return {Lowering::kNever, "not known to bear narrow types"};
}

bool states_type(const Node& node) {
  return node.domain.empty() && is_one_of(node.op, kStatesType);
}

bool only_moves(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & (ops::kView | ops::kDataMovement)) != 0;
}

bool selects_elements(const Node& node) {
  const bool resizes = node.op == "Resize" || node.op == "Upsample";
  if (resizes) return ops::text_attribute(node, "mode") == "nearest";
  return only_moves(node) || is_one_of(node.op, kExtrema);
}

bool shares_type(const Node& node, size_t input) {
  for (const OwnType& each : kOwnTypes) {
    if (node.op == each.op)
      return std::find(each.inputs.begin(), each.inputs.end(), input) == each.inputs.end();
  }
  return true;
}

bool reads_sizes_only(const Node& node) {
  return node.domain.empty() && (node.op == "Shape" || node.op == "Size");
}

bool takes_any_float(const Node& node) {
  constexpr int64_t kIsNanOfAll = 13;
  const bool is_nan = node.op == "IsNaN" && node.version >= kIsNanOfAll;
  return node.domain.empty() && (reads_sizes_only(node) || node.op == "Cast" || is_nan);
}

}  // namespace vernier
