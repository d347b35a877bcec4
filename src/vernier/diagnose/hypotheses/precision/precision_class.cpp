#include "vernier/diagnose/hypotheses/precision/precision_class.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

bool is_contraction(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & ops::kContraction) != 0;
}

bool reduces(const Node& node) {
  return has_op(node, {"ReduceSum", "ReduceMean", "GlobalAveragePool", "AveragePool"});
}

bool is_root(const Node& node) {
  return has_op(node, {"Sqrt", "Pow", "Reciprocal"});
}

// Tells whether the node may stand between the parts of a normalisation.
bool is_plain_arithmetic(const Node& node) {
  return has_op(node, {"Add", "Mul", "Div", "Sub", "Max", "Clip", "Cast", "Identity", "Reshape", "Unsqueeze",
                       "Squeeze", "Expand"});
}

bool stays_logits(const Node& node) {
  return is_plain_arithmetic(node) ||
         has_op(node, {"Where", "Transpose", "Min", "Slice", "Gather", "Concat"});
}

bool is_integer_type(const Value* value) {
  return is_integer(element_type_of(value));
}

bool casts_to_integer(const Node& node) {
  return has_op(node, {"Cast"}) && is_integer_type(node.output(0)) &&
         is_float(element_type_of(node.input(0)));
}

bool casts_from_integer(const Node& node) {
  return has_op(node, {"Cast"}) && is_integer_type(node.input(0));
}

std::optional<ElementType> type_of(const NarrowFormat& format) {
  if (format.name == NarrowFormat::float16().name) return ElementType::kFloat16;
  if (format.name == NarrowFormat::bfloat16().name) return ElementType::kBFloat16;
  return std::nullopt;
}

bool casts_between(const Node& node, ElementType from, ElementType to) {
  return has_op(node, {"Cast"}) && element_type_of(node.input(0)) == from &&
         element_type_of(node.output(0)) == to;
}

// The largest magnitude of a constant, Inf included; 0 of others.
double largest_constant(const Value* value, const Surroundings& around) {
  const Tensor* constant = around.constant(value);
  double largest = 0;
  if (constant == nullptr || !is_real(*constant)) return 0;
  for (const double each : constant->to_doubles()) largest = std::max(largest, std::abs(each));
  return largest;
}

bool has_large_constant(const Node& node, const Surroundings& around, const NarrowFormat& format) {
  return !is_contraction(node) &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
           const double largest = largest_constant(input, around);
           return std::isinf(largest) || format.overflows(largest);
         });
}

bool is_sensitive(const Node& node) {
  return has_op(node, {"Sin", "Cos", "Tan", "Exp", "Pow", "Log"});
}

// Whether half a unit in the last place of the largest number moves a phase, or an exponent, visibly.
bool is_coarse_argument(const Tensor& argument, const NarrowFormat& format) {
  constexpr double kVisible = 1.0 / 64;
  if (!is_real(argument)) return false;
  const auto values = argument.to_doubles();
  return std::any_of(values.begin(), values.end(), [&](double value) {
    return std::isfinite(value) && std::abs(value) * format.unit_roundoff() >= kVisible;
  });
}

// Whether the function turns the rounding of what it reads into an error many times as large.
bool magnifies(const Member& member, const NarrowFormat& format) {
  constexpr double kTimes = 8;
  const auto moved = member.with_input(0, rounded(member.in(0), format)).at(0).to_doubles();
  const auto right = member.out().to_doubles();
  double error = 0, energy = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    if (!std::isfinite(right[i]) || !std::isfinite(moved[i])) continue;
    error += (moved[i] - right[i]) * (moved[i] - right[i]);
    energy += right[i] * right[i];
  }
  const double least = kTimes * format.unit_roundoff();
  return error > least * least * energy;
}

bool has_large_argument(const Member& member, const Surroundings& around, const PrecisionLoss& loss) {
  if (is_sensitive(member.node()) && loss.holds(0) && member.has(0) && magnifies(member, loss.format))
    return true;
  if (!loss.results && !is_sensitive(member.node())) return false;
  const auto is_periodic = [](const Node& node) { return has_op(node, {"Sin", "Cos", "Tan", "Exp"}); };
  const auto moves = [](const Node& node) {
    return has_op(node, {"Cast", "Reshape", "Unsqueeze", "Squeeze", "Concat", "Transpose", "Expand",
                         "Identity", "Neg"});
  };
  return loss.results && is_coarse_argument(member.out(), loss.format) &&
         around.leads_to(member.node().output(0), is_periodic, moves, 4);
}

// How far results are from what is right, channel by channel (of images axis 1, else the last): a channel of
// small numbers counts as much as one of large ones.
double channel_distance(const Tensors& results, const Tensors& right) {
  double sum = 0, channels = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    const Dims& dims = right[i].dims();
    if (!right[i].is_defined() || !is_float(right[i].type()) || dims.empty() || right[i].size() == 0)
      continue;
    const size_t axis = dims.size() > 2 ? 1 : dims.size() - 1;
    int64_t inner = 1;
    for (size_t k = axis + 1; k < dims.size(); ++k) inner *= dims[k];
    std::vector<double> errors(static_cast<size_t>(dims[axis]), 0), squares = errors;
    const auto a = results[i].to_doubles(), b = right[i].to_doubles();
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t channel = k / static_cast<size_t>(inner) % errors.size();
      errors[channel] += (a[k] - b[k]) * (a[k] - b[k]);
      squares[channel] += b[k] * b[k];
    }
    constexpr double kMost = 100;  // a square; of what is not finite, too
    for (size_t channel = 0; channel < errors.size(); ++channel) {
      const double part = squares[channel] > 0 ? errors[channel] / squares[channel] : 0;
      sum += part < kMost ? part : kMost;
      ++channels;
    }
  }
  return channels > 0 ? std::sqrt(sum / channels) : 0;
}

// Whether it is what happens to the smallest numbers that makes the error: with exponents without end there
// is little of it.
bool is_by_underflow(const Member& member, const PrecisionLoss& loss) {
  const auto too_small = [&](const Tensor& held, bool constant) {
    return underflows(held, loss.format, constant);
  };
  if (!any_held(member, loss, too_small)) return false;
  PrecisionLoss endless = loss;
  endless.format.min_exponent = -1000;
  endless.format.flushes = false;
  const Tensors& right = member.outputs();
  const double all = channel_distance(results_with(member, loss), right),
               left = channel_distance(results_with(member, endless), right);
  return left < all / 2;
}

// Whether numbers of all kinds are multiplied, and not a mask of two.
bool scales_numbers(const Member& member) {
  if (!member.is("Mul") && !member.is("Div")) return false;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i) || member.is_constant(i)) continue;
    const auto values = member.in(i).to_doubles();
    const auto other =
        std::find_if(values.begin(), values.end(), [&](double value) { return value != values.front(); });
    if (std::any_of(other, values.end(),
                    [&](double value) { return value != values.front() && value != *other; }))
      return true;
  }
  return false;
}

FailureClass class_of_overflow(const Member& member, const Surroundings& around, const PrecisionLoss& loss) {
  const Node& node = member.node();
  if (has_sentinel(node, around, loss.format) && !scales_numbers(member)) return FailureClass(6);
  if (is_norm_statistic(node, around)) return FailureClass(1);
  return FailureClass(feeds_softmax(node, around) ? 7 : 2);
}

}  // namespace

bool is_norm_statistic(const Node& node, const Surroundings& around) {
  // A BatchNormalization is given its statistics.
  if (ops::has_trait(node, ops::kNormalisation)) return !ops::input_of(node, ops::Role::kMean);
  if (has_op(node, {"ReduceL2", "LpNormalization"})) return true;
  const auto before_root = [&](const Node& reduction) {
    return around.leads_to(reduction.output(0), is_root, is_plain_arithmetic, 5);
  };
  if (has_op(node, {"ReduceSumSquare"})) return before_root(node);
  const auto squares = [&](const Node& other) { return is_square(other, around); };
  if (reduces(node))
    return before_root(node) && around.comes_from(node.input(0), squares, is_plain_arithmetic, 2);
  const auto reduces_for_root = [&](const Node& other) { return reduces(other) && before_root(other); };
  return squares(node) && around.leads_to(node.output(0), reduces_for_root, is_plain_arithmetic, 2);
}

bool feeds_softmax(const Node& node, const Surroundings& around) {
  const auto is_softmax = [](const Node& other) {
    return has_op(other, {"Softmax", "LogSoftmax", "Attention"});
  };
  if (is_softmax(node)) return true;
  const auto is_sum = [](const Node& other) { return has_op(other, {"ReduceSum"}); };
  const auto divides = [](const Node& other) { return has_op(other, {"Div"}); };
  const auto never = [](const Node&) { return false; };
  const auto normalised = [&](const Node& other) {
    return has_op(other, {"Exp"}) && around.leads_to(other.output(0), is_sum, never, 0) &&
           around.leads_to(other.output(0), divides, never, 0);
  };
  if (normalised(node)) return true;
  if (is_sum(node) && around.comes_from(node.input(0), normalised, never, 0)) return true;
  return around.leads_to(
      node.output(0), [&](const Node& other) { return is_softmax(other) || normalised(other); }, stays_logits,
      6);
}

bool carries_integers(const Node& node, const Surroundings& around) {
  if (casts_to_integer(node)) return true;
  if (!is_float(element_type_of(node.output(0)))) return false;
  const auto begins = [](const Node& other) {
    return casts_from_integer(other) || has_op(other, {"Shape", "Size", "NonZero", "Range"});
  };
  if (!around.leads_to(node.output(0), casts_to_integer, carries_on, 6)) return false;
  return begins(node) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
           return input != nullptr && around.comes_from(input, begins, carries_on, 6);
         });
}

bool is_float_island(const Node& node, const Surroundings& around, const NarrowFormat& format) {
  const auto narrow = type_of(format);
  const ElementType wide = element_type_of(node.output(0));
  if (!narrow || !is_float(wide) || unit_roundoff(wide) >= format.unit_roundoff()) return false;
  const auto stays_wide = [&](const Node& other) { return element_type_of(other.output(0)) == wide; };
  const auto enters = [&](const Node& other) { return casts_between(other, *narrow, wide); };
  const auto leaves = [&](const Node& other) { return casts_between(other, wide, *narrow); };
  constexpr int kFar = 16;
  const bool begins = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    return input != nullptr && around.comes_from(input, enters, stays_wide, kFar);
  });
  return begins && around.leads_to(node.output(0), leaves, stays_wide, kFar);
}

bool has_sentinel(const Node& node, const Surroundings& around, const NarrowFormat& format) {
  const auto has_one = [&](const Node& other) { return has_large_constant(other, around, format); };
  if (has_one(node)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    return input != nullptr && around.comes_from(input, has_one, carries_on, 4);
  });
}

bool loses_epsilon(const Node& node, const Surroundings& around, const NarrowFormat& format) {
  if (!has_op(node, {"Add", "Sum", "Max", "Clip", "Where"})) return false;
  const bool lost = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    const double largest = largest_constant(input, around);
    return largest > 0 && format.round(largest) == 0;
  });
  const bool has_old_bound = has_op(node, {"Clip"}) && node.find_attribute("min") != nullptr;
  const double old_bound = has_old_bound ? ops::clip_bound_attribute(node, "min").value_or(0) : 0;
  return lost || (old_bound != 0 && format.round(old_bound) == 0);
}

FailureClass precision_class(const Member& member, const Surroundings& around, const PrecisionLoss& loss) {
  const Node& node = member.node();
  const NarrowFormat& format = loss.format;
  if (carries_integers(node, around)) return FailureClass(10);
  if (is_float_island(node, around, format)) return FailureClass(13);
  const auto too_large = [&](const Tensor& held, bool) { return overflows(held, format); };
  if (any_held(member, loss, too_large)) return class_of_overflow(member, around, loss);
  if (loses_epsilon(node, around, format)) return FailureClass(5);
  if (is_by_underflow(member, loss)) return FailureClass(4);
  if (has_large_argument(member, around, loss)) return FailureClass(11);
  if (format.name == NarrowFormat::tf32().name) return FailureClass(9);
  // Where nothing leaves its range the digits of float16 are nearly always enough: what is wrong then is that
  // nobody asked for it.
  return FailureClass(format.name == NarrowFormat::float16().name ? 13 : 15);
}

}  // namespace vernier
