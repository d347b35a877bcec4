#include "vernier/precision/roles_on_codes.h"

#include <limits>
#include <set>

#include "vernier/passes/build.h"
#include "vernier/passes/quantization/quantization.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

// ONNX Runtime's transformer of QuantizeLinear and DequantizeLinear has these lists.
const std::set<std::string_view> kCarriers = {"Expand",  "Flatten", "Gather",    "GatherElements",
                                              "MaxPool", "Reshape", "Resize",    "Slice",
                                              "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
const std::set<std::string_view> kComputers = {"Add",       "AveragePool", "Concat", "GlobalAveragePool",
                                               "LeakyRelu", "Mul",         "Sigmoid"};

const Node* maker_of(const Value* value) {
  return value == nullptr ? nullptr : value->producer();
}

// Finds the value before it became codes, if it did.
Value* before_codes(Value* value) {
  if (!is_dequantize(maker_of(value))) return value;
  Value* codes = value->producer()->input(0);
  return is_quantize(maker_of(codes)) ? codes->producer()->input(0) : value;
}

}  // namespace

Role role_of(const Node& node) {
  if (!node.domain.empty() || element_of(node.output(0)) != ElementType::kFloat) return Role::kNone;
  if (class_of(node).lowering == Lowering::kAlways) {
    const bool reads_codes = is_dequantize(maker_of(node.input(0))) && is_dequantize(maker_of(node.input(1)));
    return reads_codes ? Role::kMultiplies : Role::kNone;
  }
  if (kCarriers.contains(node.op)) return selects_elements(node) ? Role::kCarries : Role::kNone;
  if (kComputers.contains(node.op)) return Role::kComputes;
  return node.op == "Relu" || node.op == "Clip" ? Role::kBounds : Role::kNone;
}

std::vector<Value*> data_inputs(const Node& node, Role role) {
  if (role != Role::kComputes) return {before_codes(node.input(0))};
  std::vector<Value*> inputs;
  for (Value* input : node.inputs) {
    if (input != nullptr) inputs.push_back(before_codes(input));
  }
  return inputs;
}

std::pair<double, double> bounds_of(const Node& node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (node.op == "Relu") return {0, kNone};
  const auto bound = [&](size_t i, double fallback) {
    const auto content = known_content(node.input(i));
    return content && content->size() == 1 ? content->to_doubles()[0] : fallback;
  };
  // A bound that is not known is none that codes imply.
  const auto missing = [&](size_t i, double none) { return node.input(i) == nullptr ? none : -none; };
  return {bound(1, missing(1, -kNone)), bound(2, missing(2, kNone))};
}

}  // namespace vernier
