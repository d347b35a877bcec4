// Digits that a type or a formula loses: B8, B10, B11, B12, B14, B15, B18.
#include <algorithm>
#include <cmath>

#include "vernier/check/context.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// Integers up to this are exact in the type.
double exact_integers(ElementType type) {
  return type == ElementType::kFloat16 ? 2048 : 256;
}

// B8: long sums, whose partial sums stall when the accumulator is as narrow as the data.
void long_sums(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "ReduceSum" && node->op != "CumSum" && node->op != "ReduceMean") continue;
    if (!context.is_narrow(node->input(0))) continue;
    const auto count = node->op == "CumSum" ? std::nullopt : context.reduced_elements(*node);
    const ElementType type = context.type(node->input(0));
    if (!count || static_cast<double>(*count) <= exact_integers(type)) continue;
    collector.add(
        {.rule = "B8-long-sum",
         .severity = Severity::kWarning,
         .effect = 0.3,
         .node = node->name,
         .message = fmt::format("{} elements are summed in {}: a sum of ones stops growing at {}", *count,
                                precision_name(type), exact_integers(type)),
         .remedy = "sum in FP32 (Cast before, Cast after), or demand an FP32 accumulator of the engine"});
  }
}

// How many places there are along the axis of which a value counts one: that of TopK, ArgMax and ArgMin.
// Nothing for other values, and where no size is known.
std::optional<int64_t> places_counted(const CheckContext& context, const Value* value) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  const bool is_top = context.made_by(value, "TopK") != nullptr && node->output(1) == value;
  if (!is_top && context.made_by(value, "ArgMax") == nullptr && context.made_by(value, "ArgMin") == nullptr)
    return std::nullopt;
  const Value* input = node->input(0);
  if (input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape) return std::nullopt;
  const Shape& shape = *input->type.tensor.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = ops::integer_attribute(*node, "axis");
  if (axis < -rank || axis >= rank) return std::nullopt;
  return shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)].constant();
}

// B10: sizes, positions and ids that pass through a float with too few digits on their way to integers again.
void integers_in_floats(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  const auto reaches_integer = [&](const Value* value, const auto& self, int depth) -> bool {
    for (const Node* user : context.users(value)) {
      if (user->op == "Cast" && user->output(0) != nullptr && is_integer(context.type(user->output(0))))
        return true;
      const bool arithmetic = user->op == "Mul" || user->op == "Add" || user->op == "Sub" ||
                              user->op == "Div" || user->op == "Floor" || user->op == "Ceil" ||
                              user->op == "Round";
      if (arithmetic && depth < 8 && user->output(0) != nullptr && self(user->output(0), self, depth + 1))
        return true;
    }
    return false;
  };
  for (const Node* node : context.nodes()) {
    if (node->op != "Cast" || !is_integer(context.type(node->input(0)))) continue;
    const Value* value = node->output(0);
    const ElementType type = context.type(value);
    if (type != ElementType::kFloat16 && type != ElementType::kBFloat16) continue;
    // Indices have a known largest value.
    const auto places = places_counted(context, node->input(0));
    if (places && static_cast<double>(*places) <= exact_integers(type) + 1) continue;
    if (!places && (value->type.tensor.element != type || !reaches_integer(value, reaches_integer, 0)))
      continue;
    const std::string what =
        places ? fmt::format("indices up to {} of '{}'", *places - 1, node->input(0)->name) : "integers";
    collector.add({.rule = "B10-integers-in-floats",
                   .severity = Severity::kWarning,
                   .effect = places ? 0.8 : 0.6,
                   .node = node->name,
                   .message = fmt::format("{} pass through {}, which holds them exactly up to {} only", what,
                                          precision_name(type), exact_integers(type)),
                   .remedy = "keep shape arithmetic, indices and ids in INT64, or in FP32"});
  }
}

// B11: sine and cosine of large arguments: half an ulp of the argument is a phase.
void large_arguments(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if ((node->op != "Sin" && node->op != "Cos") || !context.is_narrow(node->input(0))) continue;
    const ElementType type = context.type(node->input(0));
    collector.add(
        {.rule = "B11-large-argument",
         .severity = Severity::kWarning,
         .effect = 0.4,
         .node = node->name,
         .message = fmt::format("the argument of {} is held in {}: at 1000 its step is {}", node->op,
                                precision_name(type), type == ElementType::kFloat16 ? 0.5 : 4.0),
         .remedy = "compute angles and their sine and cosine in FP32"});
  }
}

// B12: the variance as a difference of two large numbers.
void cancelling_variance(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Sub") continue;
    const Node* mean_of_squares = context.made_by(node->input(0), "ReduceMean");
    const Value* mean = context.square_root_of(node->input(1));
    if (mean_of_squares == nullptr || mean == nullptr) continue;
    const Value* x = context.square_root_of(mean_of_squares->input(0));
    const Node* mean_node = context.made_by(mean, "ReduceMean");
    if (x == nullptr || mean_node == nullptr || mean_node->input(0) != x) continue;
    const double digits = context.is_half(x) ? 11 : context.type(x) == ElementType::kBFloat16 ? 8 : 24;
    collector.add({.rule = "B12-cancelling-variance",
                   .severity = Severity::kWarning,
                   .effect = 0.5,
                   .node = node->name,
                   .message = fmt::format("the variance is E[x^2] - E[x]^2: no digit is left where the mean "
                                          "exceeds {:.0f} standard deviations",
                                          std::exp2(digits / 2)),
                   .remedy = "subtract the mean first: E[(x - E[x])^2]"});
  }
}

// B14: a narrowing Cast whose result is only upcast again: engines that drop the pair give other digits.
void cast_chain(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Cast" || node->output(0) == nullptr || node->input(0) == nullptr) continue;
    const ElementType from = node->input(0)->type.tensor.element, to = node->output(0)->type.tensor.element;
    if (!is_float(from) || !is_float(to) || element_bits(to) >= element_bits(from)) continue;
    const auto& users = context.users(node->output(0));
    const bool only_upcast = !users.empty() && std::all_of(users.begin(), users.end(), [&](const Node* user) {
      return user->op == "Cast" && user->output(0) != nullptr &&
             is_float(user->output(0)->type.tensor.element) &&
             element_bits(user->output(0)->type.tensor.element) > element_bits(to);
    });
    if (!only_upcast || context.is_model_output(node->output(0))) continue;
    collector.add(
        {.rule = "B14-cast-chain",
         .severity = Severity::kNote,
         .effect = 0.05,
         .node = node->name,
         .message = fmt::format(
             "{} is cast to {} and straight back; an engine that removes the pair computes something else",
             element_type_name(from), element_type_name(to)),
         .remedy = "remove the pair if the rounding is not meant"});
  }
}

// B15: coordinates beside small offsets in a type of eight bits.
void coarse_coordinates(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if ((node->op != "Add" && node->op != "Sub") || context.type(node->output(0)) != ElementType::kBFloat16)
      continue;
    for (const Value* input : node->inputs) {
      const Tensor* grid = context.constant(input);
      if (grid == nullptr || !is_float(grid->type()) || grid->size() < 2) continue;
      const auto values = grid->to_doubles();
      double largest = 0;
      for (const double value : values)
        largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0);
      if (largest < 256) continue;
      const double step = std::exp2(std::floor(std::log2(largest)) - 7);
      collector.add(
          {.rule = "B15-coarse-grid",
           .severity = Severity::kWarning,
           .effect = 0.4,
           .node = node->name,
           .message = fmt::format("a grid of values up to {:.4g} is added in BF16, whose step there is {:g}",
                                  largest, step),
           .remedy = "keep coordinates in FP32 or FP16"});
    }
  }
}

// B18: state that a loop feeds back in a narrow type: errors grow with every step.
void narrow_feedback(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->op != "Loop" && node->op != "Scan") continue;
    const Graph* body = node->region("body");
    if (body == nullptr) continue;
    for (size_t i = node->op == "Loop" ? 2 : 0; i < body->inputs.size(); ++i) {
      if (!context.is_narrow(body->inputs[i])) continue;
      collector.add(
          {.rule = "B18-narrow-feedback",
           .severity = Severity::kWarning,
           .effect = 0.3,
           .node = node->name,
           .message = fmt::format("the loop carries '{}' in {}; rounding errors are fed back at every step",
                                  body->inputs[i]->name, precision_name(context.type(body->inputs[i]))),
           .remedy = "carry the state in FP32 and narrow inside the body"});
      break;
    }
  }
}

}  // namespace

void float_rounding_rules(std::vector<Rule>& rules) {
  rules.push_back({"B8-long-sum", "long sums in a narrow type", long_sums});
  rules.push_back({"B10-integers-in-floats", "integers carried in narrow floats", integers_in_floats});
  rules.push_back({"B11-large-argument", "sine or cosine of a narrow argument", large_arguments});
  rules.push_back({"B12-cancelling-variance", "variance by cancellation", cancelling_variance});
  rules.push_back({"B14-cast-chain", "narrowing Cast pairs", cast_chain});
  rules.push_back({"B15-coarse-grid", "coordinates in BF16", coarse_coordinates});
  rules.push_back({"B18-narrow-feedback", "loop state in a narrow type", narrow_feedback});
}

}  // namespace vernier
