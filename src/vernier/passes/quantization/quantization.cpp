#include "vernier/passes/quantization/quantization.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"
#include "vernier/passes/match.h"

namespace vernier {

namespace {

bool is_nearest(const Node& resize) {
  return ops::text_attribute(resize, "mode") == "nearest" &&
         ops::text_attribute(resize, "coordinate_transformation_mode") != "tf_crop_and_resize";
}

// Whether what a Pad adds is a copy of an element, or 0, which has a code: the zero point.
bool adds_known(const Node& pad) {
  if (!ops::pads_are_inputs(pad)) return false;
  return ops::pad_mode(pad) != "constant" || pad.input(2) == nullptr || is_scalar(pad.input(2), 0);
}

}  // namespace

bool is_quantize(const Node* node) {
  return node != nullptr && node->domain.empty() && node->op == "QuantizeLinear";
}

bool is_dequantize(const Node* node) {
  return node != nullptr && node->domain.empty() && node->op == "DequantizeLinear";
}

std::optional<Quantization> Quantization::of(const Node* node) {
  if (!is_quantize(node) && !is_dequantize(node)) return std::nullopt;
  const Value *scale = node->input(1), *zero_point = node->input(2);
  const Value *real = is_quantize(node) ? node->input(0) : node->output(0),
              *quantized = is_quantize(node) ? node->output(0) : node->input(0);
  if (scale == nullptr || !scale->is_constant() || scale->constant->type() != ElementType::kFloat ||
      (zero_point != nullptr && !zero_point->is_constant()) || !real->type.is_tensor() ||
      real->type.tensor.element != ElementType::kFloat || !quantized->type.is_tensor() ||
      !is_integer(quantized->type.tensor.element) || ops::integer_attribute(*node, "block_size") != 0 ||
      node->find_attribute("precision") != nullptr)
    return std::nullopt;
  Quantization result{quantized->type.tensor.element, scale->constant->to_doubles(), {}};
  result.axis = ops::integer_attribute(*node, "axis");
  result.zero_points.assign(result.scales.size(), 0);
  if (zero_point != nullptr) result.zero_points = zero_point->constant->to_doubles();
  const bool sound = std::all_of(result.scales.begin(), result.scales.end(),
                                 [](double each) { return each > 0 && std::isfinite(each); });
  if (!sound || result.zero_points.size() != result.scales.size()) return std::nullopt;
  return result;
}

bool Quantization::is_symmetric() const {
  constexpr double kMiddle = 128;
  const double wanted = type == ElementType::kUint8 ? kMiddle : 0;
  return std::all_of(zero_points.begin(), zero_points.end(), [&](double zero) { return zero == wanted; });
}

bool Quantization::operator==(const Quantization& other) const {
  return type == other.type && scales == other.scales && zero_points == other.zero_points &&
         (is_uniform() || axis == other.axis);
}

size_t moved_inputs(const Node& node) {
  static const std::set<std::string_view> movers{
      "Reshape", "Flatten", "Squeeze",      "Unsqueeze",    "Slice",          "Transpose", "Split",
      "Gather",  "Expand",  "DepthToSpace", "SpaceToDepth", "GatherElements", "Identity"};
  constexpr int64_t kPoolsIntegers = 12;
  if (!node.domain.empty() || node.inputs.empty() || !node.regions.empty()) return 0;
  if (movers.contains(node.op)) return 1;
  if (node.op == "Resize" && node.version >= 11) return is_nearest(node) ? 1 : 0;
  if (node.op == "MaxPool") return node.version >= kPoolsIntegers && node.outputs.size() == 1 ? 1 : 0;
  if (node.op == "Pad") return adds_known(node) ? 1 : 0;
  return node.op == "Concat" ? node.inputs.size() : 0;
}

}  // namespace vernier
