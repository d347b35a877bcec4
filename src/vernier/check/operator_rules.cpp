// Operators used where versions or engines disagree: B32, B33, B34, B35, B36, B40.
#include <algorithm>
#include <cmath>

#include "vernier/check/context.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// B32: bounds of Clip that are no bounds.
void clip_bounds(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Clip" || !node->domain.empty()) continue;
    const bool attributes = node->version < 11;
    const auto bound = [&](const char* name, size_t input) -> std::optional<double> {
      if (!attributes) return context.scalar(node->input(input));
      const Attribute* held = node->find_attribute(name);
      return held == nullptr ? std::nullopt : std::optional<double>(held->get<float>());
    };
    const auto low = bound("min", 1), high = bound("max", 2);
    if ((low && std::isnan(*low)) || (high && std::isnan(*high))) {
      collector.add({.rule = "B32-clip-bounds",
                     .severity = Severity::kError,
                     .effect = 1,
                     .node = node->name,
                     .message = "a bound of Clip is NaN",
                     .remedy = "set the bound to a number"});
    } else if (low && high && *low > *high) {
      collector.add(
          {.rule = "B32-clip-bounds",
           .severity = Severity::kWarning,
           .effect = 0.8,
           .node = node->name,
           .message = fmt::format(
               "min {:g} is above max {:g}: ONNX gives max everywhere, other engines give min", *low, *high),
           .remedy = "exchange the bounds"});
    }
    for (size_t i = 1; !attributes && i < node->inputs.size(); ++i) {
      const Tensor* tensor = context.constant(node->inputs[i]);
      if (tensor == nullptr || tensor->rank() == 0) continue;
      collector.add({.rule = "B32-clip-rank",
                     .severity = Severity::kNote,
                     .effect = 0.02,
                     .node = node->name,
                     .message = fmt::format("the bound '{}' has the shape {}, where ONNX wants a scalar",
                                            node->inputs[i]->name, dims_text(tensor->dims())),
                     .remedy = "store the bound as a scalar"});
    }
  }
}

std::vector<int64_t> ints(const Node& node, const char* name) {
  return node.attribute<std::vector<int64_t>>(name, {});
}

// B33: the divisor of the last window, about which exporters and engines differ.
void pool_divisor(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "AveragePool" || ops::integer_attribute(*node, "ceil_mode") == 0) continue;
    const auto pads = ints(*node, "pads");
    const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
    if (!padded || ops::integer_attribute(*node, "count_include_pad") == 0) continue;
    collector.add({.rule = "B33-pool-divisor",
                   .severity = Severity::kWarning,
                   .effect = 0.3,
                   .node = node->name,
                   .message = "ceil_mode with count_include_pad and pads: engines differ in what the last "
                              "window is divided by",
                   .remedy = "pad explicitly (Pad) and pool without pads"});
  }
}

// B34: an output size that hangs on the last bit of a scale.
void resize_size(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Resize" && node->op != "Upsample") continue;
    const size_t at = node->op == "Upsample" || node->version < 11 ? 1 : 2;
    const Tensor* scales = context.constant(node->input(at));
    const Value* input = node->input(0);
    if (scales == nullptr || input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape ||
        !is_float(scales->type()))
      continue;
    const auto values = scales->to_doubles();
    const Shape& shape = *input->type.tensor.shape;
    for (size_t axis = 0; axis < std::min(values.size(), shape.size()); ++axis) {
      const auto size = shape[axis].constant();
      if (!size) continue;
      const double product = static_cast<double>(*size) * values[axis],
                   distance = std::abs(product - std::round(product));
      if (distance == 0 || distance > 1e-4) continue;
      collector.add(
          {.rule = "B34-resize-size",
           .severity = Severity::kWarning,
           .effect = 0.4,
           .node = node->name,
           .message = fmt::format(
               "size {} x scale {:.9g} is {:.9g}, {:.1g} beside an integer: rounding decides the output size",
               *size, values[axis], product, distance),
           .remedy = "give `sizes` instead of `scales`"});
    }
  }
}

// B35: a BatchNormalization that grows weights out of proportion, or cannot be computed.
void batch_norm(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "BatchNormalization") continue;
    const Tensor *scale = context.constant(node->input(1)), *variance = context.constant(node->input(4));
    if (scale == nullptr || variance == nullptr || scale->size() != variance->size()) continue;
    const double epsilon = ops::real_attribute(*node, "epsilon");
    const auto scales = scale->to_doubles(), variances = variance->to_doubles();
    double growth = 0;
    size_t channel = 0;
    for (size_t i = 0; i < scales.size(); ++i) {
      if (variances[i] + epsilon <= 0) {
        collector.add(
            {.rule = "B35-batch-norm",
             .severity = Severity::kError,
             .effect = 1,
             .node = node->name,
             .message = fmt::format("channel {} has the variance {:g}: its square root does not exist", i,
                                    variances[i]),
             .remedy = "export the model again; a variance is never negative"});
        break;
      }
      const double factor = std::abs(scales[i]) / std::sqrt(variances[i] + epsilon);
      if (factor > growth) growth = factor, channel = i;
    }
    if (growth <= 1e4) continue;
    collector.add({.rule = "B35-batch-norm",
                   .severity = Severity::kWarning,
                   .effect = 0.3,
                   .node = node->name,
                   .message = fmt::format("channel {} is multiplied by {:.3g}; folded into the weights this "
                                          "leaves the range of narrow types",
                                          channel, growth),
                   .remedy = "do not fold this node, or set dead channels to zero"});
  }
}

// B36: Softmax before opset 13 works on a flattened matrix; read as an axis it means something else.
void flattened_softmax(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const bool family = node->op == "Softmax" || node->op == "LogSoftmax" || node->op == "Hardmax";
    if (!family || !node->domain.empty() || node->version >= 13) continue;
    const Value* input = node->input(0);
    if (input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape) continue;
    const Shape& shape = *input->type.tensor.shape;
    int64_t axis = ops::integer_attribute(*node, "axis");
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    Dim rest = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) rest = rest * shape[i];
    if (rest == Dim(1)) continue;
    collector.add(
        {.rule = "B36-flattened-softmax",
         .severity = Severity::kWarning,
         .effect = 0.6,
         .node = node->name,
         .message =
             fmt::format("before opset 13 {} sums over {} of {}, not over axis {} alone", node->op,
                         shape_text(Shape(shape.begin() + axis, shape.end())), shape_text(shape), axis),
         .remedy = "convert the model to opset 13, where this is written out as Reshape and Softmax"});
  }
}

// B40: an order that nobody promises.
void unsorted_topk(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "TopK" || ops::integer_attribute(*node, "sorted") != 0) continue;
    collector.add({.rule = "B40-unsorted-topk",
                   .severity = Severity::kNote,
                   .effect = 0.1,
                   .node = node->name,
                   .message = "TopK with sorted=0 may give its elements in any order",
                   .remedy = "set sorted=1, or compare its outputs as sets"});
  }
}

}  // namespace

void operator_rules(std::vector<Rule>& rules) {
  rules.push_back({"B32-clip-bounds", "bounds of Clip", clip_bounds});
  rules.push_back({"B33-pool-divisor", "divisor of average pooling", pool_divisor});
  rules.push_back({"B34-resize-size", "output size of Resize", resize_size});
  rules.push_back({"B35-batch-norm", "BatchNormalization that cannot be folded", batch_norm});
  rules.push_back({"B36-flattened-softmax", "Softmax before opset 13", flattened_softmax});
  rules.push_back({"B40-unsorted-topk", "TopK in any order", unsorted_topk});
}

}  // namespace vernier
