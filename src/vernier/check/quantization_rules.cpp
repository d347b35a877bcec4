// Scales and zero points: B23, B24, B25, B26, B27, B28.
#include <algorithm>
#include <cmath>

#include "vernier/check/context.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

bool quantizes(const Node& node) {
  return node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
}

// B23: scales that are no scales.
void invalid_scale(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (!quantizes(*node)) continue;
    const Tensor* scale = context.constant(node->input(1));
    if (scale == nullptr || scale->type() == ElementType::kFloat8E8M0) continue;
    const auto values = scale->to_doubles();
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i]) && values[i] > 0) continue;
      collector.add({.rule = "B23-invalid-scale",
                     .severity = Severity::kError,
                     .effect = 1,
                     .node = node->name,
                     .message = fmt::format("scale {} of '{}' is {}", i, node->input(1)->name, values[i]),
                     .remedy = "calibrate again with data that excite the tensor, or give dead channels "
                               "their neighbours' scale"});
      break;
    }
  }
}

// B24: one scale for weights whose channels differ widely: small channels keep a few codes.
void uneven_channels(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "DequantizeLinear") continue;
    const Tensor *codes = context.constant(node->input(0)), *scale = context.constant(node->input(1));
    if (codes == nullptr || scale == nullptr || scale->size() != 1 || codes->rank() < 2 ||
        !is_signed_integer(codes->type()) || element_bits(codes->type()) > 8)
      continue;
    const auto& users = context.users(node->output(0));
    if (users.empty() || ops::operand(*users[0], ops::Role::kWeight) != node->output(0)) continue;
    const auto axis = ops::output_channel_axis(*users[0], codes->rank());
    if (!axis) continue;
    const auto ranges = channel_ranges(*codes, *axis);
    const double coarse = static_cast<double>(integer_max(codes->type())) / 32;
    const auto poor = std::count_if(ranges.begin(), ranges.end(), [&](const Range& range) {
      return range.largest > 0 && range.largest < coarse;
    });
    if (poor == 0) continue;
    collector.add(
        {.rule = "B24-uneven-channels",
         .severity = Severity::kWarning,
         .effect = 0.5 * static_cast<double>(poor) / static_cast<double>(ranges.size()),
         .node = users[0]->name,
         .message = fmt::format("one scale serves all channels, and {} of {} use less than 1/32 of the codes",
                                poor, ranges.size()),
         .remedy = "quantize these weights per channel"});
  }
}

// B25: symmetric codes for an activation that is hardly ever negative.
void symmetric_after_gate(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "QuantizeLinear" || node->output(0) == nullptr ||
        context.type(node->output(0)) != ElementType::kInt8)
      continue;
    if (node->input(2) != nullptr && context.scalar(node->input(2)) != 0.0) continue;
    const Node* gate = context.made_by(node->input(0), "Mul");
    const bool silu = gate != nullptr && ((context.made_by(gate->input(0), "Sigmoid") &&
                                           gate->input(0)->producer()->input(0) == gate->input(1)) ||
                                          (context.made_by(gate->input(1), "Sigmoid") &&
                                           gate->input(1)->producer()->input(0) == gate->input(0)));
    if (!silu && context.made_by(node->input(0), "HardSwish") == nullptr &&
        context.made_by(node->input(0), "Gelu") == nullptr)
      continue;
    collector.add({.rule = "B25-symmetric-gate",
                   .severity = Severity::kNote,
                   .effect = 0.1,
                   .node = node->name,
                   .message = "the output of SiLU, HardSwish or GELU reaches only -0.4 downwards, but half "
                              "of the codes are spent on negative values",
                   .remedy = "quantize it to UINT8 with a zero point"});
  }
}

std::optional<double> dequantized_scale(const CheckContext& context, const Value* value) {
  const Node* node = context.made_by(value, "DequantizeLinear");
  return node == nullptr ? std::nullopt : context.scalar(node->input(1));
}

// B26, B27: a branch whose whole range is a few steps of the scale it is requantized to.
void requantize(const CheckContext& context, std::vector<Finding>& findings, const char* op, const char* rule,
                const char* remedy) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != op || node->output(0) == nullptr) continue;
    for (const Node* user : context.users(node->output(0))) {
      const auto out = user->op == "QuantizeLinear" ? context.scalar(user->input(1)) : std::nullopt;
      if (!out || *out <= 0) continue;
      for (const Value* input : node->inputs) {
        const auto in = dequantized_scale(context, input);
        if (!in || *in <= 0 || *out / *in <= 32) continue;
        collector.add({.rule = rule,
                       .severity = Severity::kWarning,
                       .effect = 0.6,
                       .node = node->name,
                       .message = fmt::format("'{}' has a scale of {:.3g}, but the result is quantized with "
                                              "{:.3g}: its 256 steps become {:.0f}",
                                              input->name, *in, *out, std::ceil(256 * *in / *out)),
                       .remedy = remedy});
      }
    }
  }
}

void unequal_concat(const CheckContext& context, std::vector<Finding>& findings) {
  requantize(context, findings, "Concat", "B26-unequal-concat",
             "do not quantize the Concat, or quantize its inputs apart");
}

void unequal_add(const CheckContext& context, std::vector<Finding>& findings) {
  requantize(context, findings, "Add", "B27-unequal-add",
             "give the branches of the Add closer scales, or add in FP32");
}

// B28: an integer bias whose scale is not input scale times weight scale: kernels that assume it shift the
// bias.
void bias_scale(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const Node* bias = context.made_by(ops::operand(*node, ops::Role::kBias), "DequantizeLinear");
    const Node* weight = context.made_by(ops::operand(*node, ops::Role::kWeight), "DequantizeLinear");
    const auto input_scale = dequantized_scale(context, node->input(0));
    if (bias == nullptr || weight == nullptr || !input_scale) continue;
    const Tensor *bias_scales = context.constant(bias->input(1)),
                 *weight_scales = context.constant(weight->input(1));
    if (bias_scales == nullptr || weight_scales == nullptr || bias_scales->size() != weight_scales->size())
      continue;
    const auto have = bias_scales->to_doubles(), weights = weight_scales->to_doubles();
    double worst = 0;
    for (size_t i = 0; i < have.size(); ++i) {
      const double want = *input_scale * weights[i];
      worst = std::max(worst, std::abs(have[i] - want) / std::max(want, 1e-300));
    }
    if (worst < 1e-3) continue;
    collector.add({.rule = "B28-bias-scale",
                   .severity = Severity::kWarning,
                   .effect = std::min(0.5, worst),
                   .node = node->name,
                   .message = fmt::format("the scale of the bias differs from input scale x weight scale by "
                                          "{:.2g} of it; integer kernels assume equality",
                                          worst),
                   .remedy = "quantize the bias with the product of the two scales"});
  }
}

constexpr double kLastCode = 0x7FFFFFFF;

// The first bias code at an end of int32, where a sum can only be wrong: of a bias in codes, or of one in
// floats, in the scale that integer kernels give it. Nothing if all have room.
std::optional<std::string> bias_without_room(const CheckContext& context, const Node& node) {
  const bool is_integer_kernel = ops::input_of(node, ops::Role::kResultScale).has_value();
  const Value* bias = ops::operand(node, ops::Role::kBias);
  const Node* dequantized = context.made_by(bias, "DequantizeLinear");
  const Tensor* codes = context.constant(dequantized != nullptr ? dequantized->input(0) : bias);
  if (codes == nullptr) return std::nullopt;
  const auto values = codes->to_doubles();
  if (codes->type() == ElementType::kInt32) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) >= kLastCode)
        return fmt::format("code {} of the bias '{}' is {:.0f}, the end of int32: it was cut off there", i,
                           bias->name, values[i]);
    }
    return std::nullopt;
  }
  const Node* weight = context.made_by(ops::operand(node, ops::Role::kWeight), "DequantizeLinear");
  const auto input_scale = dequantized_scale(context, node.input(0));
  const Tensor* scales = weight == nullptr ? nullptr : context.constant(weight->input(1));
  if (is_integer_kernel || !is_float(codes->type()) || scales == nullptr || !input_scale ||
      (scales->size() != 1 && scales->size() != codes->size()))
    return std::nullopt;
  const auto steps = scales->to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const double step = *input_scale * steps[steps.size() == 1 ? 0 : i];
    if (step > 0 && std::abs(values[i]) / step > kLastCode)
      return fmt::format(
          "element {} of the bias '{}' is {:.3g}, which is {:.2g} steps of input scale x weight "
          "scale: integer kernels cut it off at the end of int32, {:.2g}",
          i, bias->name, values[i], std::abs(values[i]) / step, kLastCode * step);
  }
  return std::nullopt;
}

// B28: a bias that int32 cuts off, as of channels whose weights are next to nothing.
void saturated_bias(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    auto message = bias_without_room(context, *node);
    if (!message) continue;
    collector.add({.rule = "B28-saturated-bias",
                   .severity = Severity::kWarning,
                   .effect = 0.7,
                   .node = node->name,
                   .message = std::move(*message),
                   .remedy = "give the weights of that channel a larger scale, so that its bias fits int32"});
  }
}

}  // namespace

void quantization_rules(std::vector<Rule>& rules) {
  rules.push_back({"B23-invalid-scale", "scales that are zero, negative or not finite", invalid_scale});
  rules.push_back({"B24-uneven-channels", "one scale for uneven weight channels", uneven_channels});
  rules.push_back(
      {"B25-symmetric-gate", "symmetric codes after SiLU, HardSwish, GELU", symmetric_after_gate});
  rules.push_back({"B26-unequal-concat", "Concat of unequal scales", unequal_concat});
  rules.push_back({"B27-unequal-add", "Add of unequal scales", unequal_add});
  rules.push_back({"B28-saturated-bias", "a bias at the ends of int32", saturated_bias});
  rules.push_back({"B28-bias-scale", "bias scale is not the product of input and weight scale", bias_scale});
}

}  // namespace vernier
