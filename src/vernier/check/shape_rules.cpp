// Integers, indices, shapes and control flow: B37, B38, B39, B41.
#include <algorithm>
#include <limits>

#include "vernier/check/context.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// B37: integers that an engine with 32-bit integers clamps. The ends of Slice mean "to the end" and do no
// harm.
void wide_integers(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const bool computes = node->op == "Add" || node->op == "Sub" || node->op == "Mul" || node->op == "Div" ||
                          node->op == "Mod" || node->op == "Equal" || node->op == "Less" ||
                          node->op == "Greater" || node->op == "Where";
    if (!computes) continue;
    for (const Value* input : node->inputs) {
      const Tensor* tensor = context.constant(input);
      if (tensor == nullptr || tensor->type() != ElementType::kInt64) continue;
      for (const int64_t value : tensor->values<int64_t>()) {
        if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max())
          continue;
        collector.add(
            {.rule = "B37-wide-integer",
             .severity = Severity::kWarning,
             .effect = 0.4,
             .node = node->name,
             .message = fmt::format(
                 "computes with the integer {}, which 32 bits do not hold; some engines clamp it", value),
             .remedy = "use an engine with 64-bit integers, or smaller constants"});
        break;
      }
    }
  }
}

// B38: a shape written down for one size, in a model whose sizes vary.
void frozen_reshape(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Reshape" || node->input(0) == nullptr || !node->input(0)->type.is_tensor() ||
        !node->input(0)->type.tensor.shape)
      continue;
    const Tensor* target = context.constant(node->input(1));
    if (target == nullptr || target->type() != ElementType::kInt64) continue;
    const auto sizes = target->values<int64_t>();
    if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size <= 0; })) continue;
    const Dim count = element_count(*node->input(0)->type.tensor.shape);
    if (count.is_constant() || count.has_fresh()) continue;
    collector.add(
        {.rule = "B38-frozen-reshape",
         .severity = Severity::kWarning,
         .effect = 0.7,
         .node = node->name,
         .message = fmt::format("reshapes {} elements to the fixed {}: the model runs at one size only",
                                count.text(), dims_text(target->to_ints())),
         .remedy = "write 0 or -1 for the size that varies, or declare the inputs with fixed sizes"});
  }
}

// B39: indices that are certain to miss, and updates whose order nobody promises.
void bad_indices(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op == "Gather" && node->domain.empty() && node->input(0) != nullptr &&
        node->input(0)->type.is_tensor() && node->input(0)->type.tensor.shape) {
      const Shape& shape = *node->input(0)->type.tensor.shape;
      int64_t axis = ops::integer_attribute(*node, "axis");
      if (axis < 0) axis += static_cast<int64_t>(shape.size());
      const Tensor* indices = context.constant(node->input(1));
      const auto size = axis < static_cast<int64_t>(shape.size())
                            ? shape[static_cast<size_t>(axis)].constant()
                            : std::nullopt;
      if (indices == nullptr || !size || is_float(indices->type())) continue;
      for (const int64_t index : indices->to_ints()) {
        if (index >= -*size && index < *size) continue;
        collector.add(
            {.rule = "B39-index-out-of-range",
             .severity = Severity::kError,
             .effect = 1,
             .node = node->name,
             .message = fmt::format("index {} is outside of axis {} of size {}", index, axis, *size),
             .remedy = "correct the indices"});
        break;
      }
    }
    const bool scatters = node->op == "ScatterND" || node->op == "ScatterElements" || node->op == "Scatter";
    const Tensor* indices = scatters ? context.constant(node->input(1)) : nullptr;
    if (indices == nullptr || indices->type() == ElementType::kString ||
        ops::text_attribute(*node, "reduction") != "none" || node->op != "ScatterND" || indices->rank() < 1)
      continue;
    const int64_t width = indices->dims().back();
    const auto flat = indices->to_ints();
    std::set<std::vector<int64_t>> seen;
    for (size_t i = 0; width > 0 && i + static_cast<size_t>(width) <= flat.size();
         i += static_cast<size_t>(width)) {
      const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(i);
      if (seen.insert(std::vector<int64_t>(begin, begin + width)).second) continue;
      collector.add({.rule = "B39-duplicate-index",
                     .severity = Severity::kWarning,
                     .effect = 0.4,
                     .node = node->name,
                     .message = fmt::format(
                         "the index {} occurs twice without a reduction: which update stays is not defined",
                         dims_text(Dims(begin, begin + width))),
                     .remedy = "remove duplicates, or state a reduction"});
      break;
    }
  }
}

// B41: control flow that cannot be what was meant.
void endless_loop(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op == "If" && context.constant(node->input(0)) != nullptr) {
      collector.add({.rule = "B41-constant-branch",
                     .severity = Severity::kNote,
                     .effect = 0.01,
                     .node = node->name,
                     .message = "the condition is a constant; one branch never runs",
                     .remedy = "keep only the branch that runs"});
    }
    const Graph* body = node->op == "Loop" ? node->region("body") : nullptr;
    if (body == nullptr || body->outputs.empty() || node->input(0) != nullptr) continue;
    const bool starts = node->input(1) == nullptr || context.scalar(node->input(1)) == 1.0;
    if (!starts || context.scalar(body->outputs[0]) != 1.0) continue;
    collector.add({.rule = "B41-endless-loop",
                   .severity = Severity::kError,
                   .effect = 1,
                   .node = node->name,
                   .message = "no trip count is given and the condition is always true: the loop never ends",
                   .remedy = "give a trip count, or compute the condition"});
  }
}

}  // namespace

void shape_rules(std::vector<Rule>& rules) {
  rules.push_back({"B37-wide-integer", "integers beyond 32 bits", wide_integers});
  rules.push_back({"B38-frozen-reshape", "shapes written for one size", frozen_reshape});
  rules.push_back({"B39-index", "indices out of range or twice", bad_indices});
  rules.push_back({"B41-control-flow", "control flow that cannot be meant", endless_loop});
}

}  // namespace vernier
