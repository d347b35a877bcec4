// Values that leave the range of a narrow floating-point type: B1, B4, B5, B6, B7, B16.
#include <cmath>

#include "vernier/check/context.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

// B1: the square of a value, or the sum of squares, leaves 65504 long before the value does.
void norm_statistics(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const bool squares_itself = node->op == "ReduceSumSquare" || node->op == "ReduceL2";
    const bool reduces = node->op == "ReduceSum" || node->op == "ReduceMean" || squares_itself;
    if (!reduces || !context.is_half(node->input(0))) continue;
    if (!squares_itself && context.square_root_of(node->input(0)) == nullptr) continue;
    const auto count = context.reduced_elements(*node);
    const bool mean = node->op == "ReduceMean";
    const double limit = std::sqrt(kHalfMax / (mean ? 1.0 : static_cast<double>(count.value_or(1))));
    collector.add(
        {.rule = "B1-norm-overflow",
         .severity = Severity::kWarning,
         .effect = mean ? 0.6 : 0.8,
         .node = node->name,
         .message = fmt::format("the {} of squares in FP16 overflows when {} exceeds {:.1f}",
                                mean ? "mean" : "sum", mean ? "an element" : "the RMS of the row", limit),
         .remedy = "compute the statistics in FP32 (Cast around Pow … Sqrt), or use LayerNormalization / "
                   "RMSNormalization"});
  }
}

// B4: weights that a narrow type flushes to zero; counted by the energy a channel loses, not by number.
void weight_underflow(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const Value* value = ops::operand(*node, ops::Role::kWeight);
    const Tensor* weight = context.constant(value);
    if (weight == nullptr || weight->rank() < 2 || !context.is_half(value)) continue;
    const auto axis = ops::output_channel_axis(*node, weight->rank());
    if (!axis) continue;
    const auto ranges = channel_ranges(*weight, *axis);
    size_t lost = 0;
    double worst = 1;
    for (const Range& range : ranges) {
      if (range.largest == 0 || range.largest >= kHalfMinNormal) continue;
      ++lost;
      worst = std::min(worst, range.largest);
    }
    if (lost == 0) continue;
    collector.add(
        {.rule = "B4-weight-underflow",
         .severity = Severity::kWarning,
         .effect = 0.3 * static_cast<double>(lost) / static_cast<double>(ranges.size()) +
                   (worst < kHalfMin ? 0.4 : 0.1),
         .node = node->name,
         .message = fmt::format(
             "{} of {} output channels have only weights below the normal range of FP16 (largest {:.2g})",
             lost, ranges.size(), worst),
         .remedy =
             "scale these rows up by a power of two and the next operator down, or keep the node in FP32"});
  }
}

// B5: an epsilon that is zero, or nearly so, in the type that holds it.
void epsilon_lost(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const bool guards = node->op == "Add" || node->op == "Max" || node->op == "Clip";
    if (!guards || !context.is_half(node->output(0))) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const auto epsilon = node->op == "Clip" && i != 1 ? std::nullopt : context.scalar(node->inputs[i]);
      if (!epsilon || *epsilon < 0 || *epsilon >= kHalfMin) continue;
      for (const Node* user : context.users(node->output(0))) {
        const bool divides = user->op == "Sqrt" || user->op == "Log" || user->op == "Reciprocal" ||
                             (user->op == "Div" && user->input(1) == node->output(0));
        if (!divides) continue;
        collector.add(
            {.rule = "B5-epsilon-lost",
             .severity = Severity::kWarning,
             .effect = 0.7,
             .node = node->name,
             .message =
                 fmt::format("the epsilon {:.3g} is zero in FP16, so {} '{}' of a zero row divides by zero",
                             *epsilon, user->op, user->name),
             .remedy = "raise the epsilon to 1e-7 or more if the data allow, or keep the node in FP32"});
      }
    }
  }
}

// B6: masks by a huge negative number: beyond the type they become -Inf, and a fully masked row becomes NaN.
void mask_sentinel(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Add" && node->op != "Where" && node->op != "Min" && node->op != "Max" &&
        node->op != "Mul")
      continue;
    if (!context.is_half(node->output(0))) continue;
    for (const Value* input : node->inputs) {
      const auto sentinel = context.scalar(input);
      if (!sentinel || !Float16(*sentinel).is_infinite()) continue;
      collector.add({.rule = "B6-mask-sentinel",
                     .severity = Severity::kWarning,
                     .effect = 0.5,
                     .node = node->name,
                     .message = fmt::format("the constant {:.4g} is infinite in FP16 (limit 65504); a fully "
                                            "masked row of a Softmax becomes NaN",
                                            *sentinel),
                     .remedy = "use a sentinel inside the type (-1e4), or keep mask and Softmax in FP32"});
    }
  }
}

// B7: attention scores scaled after the product: the unscaled product is what overflows.
void late_scale(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Softmax" || !context.is_half(node->input(0))) continue;
    const Value* scores = node->input(0);
    if (const Node* mask = context.made_by(scores, "Add"))
      scores = context.made_by(mask->input(0), "Mul") || context.made_by(mask->input(0), "Div")
                   ? mask->input(0)
                   : mask->input(1);
    const Node* scale = context.made_by(scores, "Mul");
    if (scale == nullptr) scale = context.made_by(scores, "Div");
    if (scale == nullptr || context.made_by(scale->input(0), "MatMul") == nullptr) continue;
    const auto factor = context.scalar(scale->input(1));
    collector.add(
        {.rule = "B7-late-scale",
         .severity = Severity::kWarning,
         .effect = 0.4,
         .node = scale->name,
         .message = fmt::format(
             "the scores of '{}' are scaled{} after the product, which must fit into FP16 unscaled",
             node->name, factor ? fmt::format(" by {:.4g}", scale->op == "Div" ? 1 / *factor : *factor) : ""),
         .remedy =
             "scale the query before the product (exact for powers of two), or compute the scores in FP32"});
  }
}

// B16: weights that are not numbers: the model was damaged before it came here.
void damaged_weights(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    using ops::Role;
    for (size_t i = 1; i < node->inputs.size(); ++i) {
      const Tensor* weight = context.constant(node->inputs[i]);
      const bool learned =
          ops::has_role(*node, i, {Role::kWeight, Role::kBias, Role::kGain, Role::kMean, Role::kVariance});
      if (!learned || weight == nullptr || !is_float(weight->type())) continue;
      const auto values = weight->to_doubles();
      const auto bad =
          std::count_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
      if (bad == 0) continue;
      collector.add({.rule = "B16-damaged-weight",
                     .severity = Severity::kError,
                     .effect = 1,
                     .node = node->name,
                     .message = fmt::format("weight '{}' holds {} values that are NaN or infinite",
                                            node->inputs[i]->name, bad),
                     .remedy = "convert the model again from its FP32 original"});
    }
  }
}

}  // namespace

void float_range_rules(std::vector<Rule>& rules) {
  rules.push_back({"B1-norm-overflow", "norm statistics overflow in FP16", norm_statistics});
  rules.push_back({"B4-weight-underflow", "weights vanish in FP16", weight_underflow});
  rules.push_back({"B5-epsilon-lost", "an epsilon is zero in its type", epsilon_lost});
  rules.push_back({"B6-mask-sentinel", "a mask constant leaves the range of its type", mask_sentinel});
  rules.push_back({"B7-late-scale", "attention scores are scaled after the product", late_scale});
  rules.push_back({"B16-damaged-weight", "weights are NaN or infinite", damaged_weights});
}

}  // namespace vernier
