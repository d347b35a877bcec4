// Scales and zero points as TensorRT takes them: symmetric, known when the engine is built, one for each
// channel for weights alone.
#include <algorithm>

#include "vernier/check/tensorrt_rules.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"

namespace vernier {

bool makes_codes(const Node& node) {
  return node.domain.empty() && node.op == "QuantizeLinear";
}
bool reads_codes(const Node& node) {
  return node.domain.empty() && node.op == "DequantizeLinear";
}
const Value* codes_of(const Node& node) {
  return makes_codes(node) ? node.output(0) : node.input(0);
}

Finding broken(const char* rule, const Node& node, std::string message, std::string remedy) {
  return {.rule = rule,
          .severity = Severity::kError,
          .effect = 1,
          .node = node.name,
          .message = std::move(message),
          .remedy = std::move(remedy)};
}

namespace {

constexpr const char* kCalibrate =
    "calibrate it symmetrically, as `vernier export FLOAT_MODEL --int8 --for tensorrt` does";

template <class Visit>
void for_each_quantization(const CheckContext& context, const Visit& visit) {
  for (const Node* node : context.nodes()) {
    if (makes_codes(*node) || reads_codes(*node)) visit(*node);
  }
}

void zero_point(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_quantization(context, [&](const Node& node) {
    const Value* point = node.input(2);
    if (point == nullptr) return;
    const Tensor* known = context.constant(point);
    if (known == nullptr) {
      collector.add(
          broken("TRT1-zero-point", node, "the zero point is not known before the model runs", kCalibrate));
      return;
    }
    const auto values = known->to_doubles();
    const auto other = std::find_if(values.begin(), values.end(), [](double value) { return value != 0; });
    if (other != values.end())
      collector.add(broken(
          "TRT1-zero-point", node,
          fmt::format("zero point {} is {}; TensorRT quantizes around zero alone", point->name, *other),
          kCalibrate));
  });
}

void code_type(const CheckContext& context, std::vector<Finding>& findings) {
  constexpr ElementType kCodes[] = {ElementType::kInt8, ElementType::kInt4, ElementType::kFloat8E4M3FN,
                                    ElementType::kFloat4E2M1, ElementType::kUndefined};
  Collector collector(findings);
  for_each_quantization(context, [&](const Node& node) {
    const ElementType type = context.type(codes_of(node));
    if (std::find(std::begin(kCodes), std::end(kCodes), type) != std::end(kCodes)) return;
    const bool bias = type == ElementType::kInt32;
    collector.add(broken("TRT2-code-type", node,
                         fmt::format("'{}' holds codes of {}; TensorRT has INT8, INT4, FP8 (E4M3) and FP4",
                                     codes_of(node)->name, element_type_name(type)),
                         bias ? "keep the bias in float, and drop its DequantizeLinear" : kCalibrate));
  });
}

void scale_is_constant(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_quantization(context, [&](const Node& node) {
    if (context.constant(node.input(1)) == nullptr)
      collector.add(broken("TRT3-scale", node, "the scale is not known when the engine is built",
                           "make the scale an initializer"));
  });
}

// Codes that a QuantizeLinear makes are known if what it reads is.
bool is_of_weights(const CheckContext& context, const Node& node) {
  const Value* source = node.input(0);
  if (const Node* maker = context.made_by(source, "QuantizeLinear")) source = maker->input(0);
  return context.constant(source) != nullptr;
}

size_t scales_of(const CheckContext& context, const Node& node) {
  const Tensor* scale = context.constant(node.input(1));
  return scale == nullptr ? 1 : static_cast<size_t>(scale->size());
}

void scale_per_channel(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_quantization(context, [&](const Node& node) {
    if (scales_of(context, node) > 1 && !is_of_weights(context, node))
      collector.add(broken("TRT4-activation-scales", node,
                           fmt::format("an activation has {} scales; only weights have one for each channel",
                                       scales_of(context, node)),
                           "give the activation one scale"));
  });
}

void channel_axis(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_quantization(context, [&](const Node& node) {
    const Value* output = node.output(0);
    if (!reads_codes(node) || scales_of(context, node) <= 1 || output == nullptr ||
        !output->type.is_tensor() || !output->type.tensor.shape)
      return;
    const auto rank = static_cast<int64_t>(output->type.tensor.shape->size());
    const int64_t given = ops::integer_attribute(node, "axis"), axis = given < 0 ? given + rank : given;
    for (const Node* user : context.users(output)) {
      if (ops::operand(*user, ops::Role::kWeight) != output) continue;
      const auto wanted = ops::output_channel_axis(*user, rank);
      if (wanted && axis != *wanted)
        collector.add(broken("TRT5-channel-axis", node,
                             fmt::format("the scales lie along axis {}, and output channels of {} '{}' along "
                                         "axis {}",
                                         axis, user->op, user->name, *wanted),
                             "give each output channel its scale, or use one for all"));
    }
  });
}

}  // namespace

void tensorrt_scale_rules(std::vector<Rule>& rules) {
  rules.push_back({"TRT1-zero-point", "zero points other than zero", zero_point});
  rules.push_back({"TRT2-code-type", "codes of types that TensorRT does not quantize to", code_type});
  rules.push_back({"TRT3-scale", "scales that are computed", scale_is_constant});
  rules.push_back({"TRT4-activation-scales", "activations with a scale for each channel", scale_per_channel});
  rules.push_back({"TRT5-channel-axis", "scales along another axis than output channels", channel_axis});
}

}  // namespace vernier
