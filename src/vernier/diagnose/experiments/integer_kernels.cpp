#include "vernier/diagnose/experiments/integer_kernels.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/member.h"
#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

// Gives the content of a value, if it is known: a constant, or one of the inputs of a group, which has these.
const Tensor* content_of(const Value* value, std::span<const Tensor> inputs) {
  if (value->is_constant()) return &*value->constant;
  const auto& given = value->graph().inputs;
  const auto place = static_cast<size_t>(std::find(given.begin(), given.end(), value) - given.begin());
  return place < std::min(given.size(), inputs.size()) && inputs[place].is_defined() ? &inputs[place]
                                                                                     : nullptr;
}

// By which the node that makes a value quantizes or dequantizes, by element or channel; empty: none is known.
std::vector<double> scales_of(const Value* value, std::string_view op, std::span<const Tensor> inputs) {
  const Node* maker = value == nullptr ? nullptr : value->producer();
  if (maker == nullptr || maker->op != op || maker->input(1) == nullptr) return {};
  const Tensor* scale = content_of(maker->input(1), inputs);
  return scale == nullptr ? std::vector<double>() : scale->to_doubles();
}

double largest_scale(const Value* value, std::span<const Tensor> inputs) {
  const auto scales = scales_of(value, "DequantizeLinear", inputs);
  return scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end());
}

// Whether a bias is an integer already, of the step of the sums.
bool is_whole(const Value* bias) {
  const Node* maker = bias == nullptr ? nullptr : bias->producer();
  if (maker == nullptr || maker->op != "DequantizeLinear" || maker->input(0) == nullptr) return false;
  const ValueType& type = maker->input(0)->type;
  return type.is_tensor() && type.tensor.element == ElementType::kInt32;
}

// Holds what a node that quantizes at the end would make without rounding.
struct RealCodes {
  std::vector<double> values;
  double near = 0;  // how far sums in integers may move one
};

// Nothing where another node is the last one, or the node cannot be run by itself.
std::optional<RealCodes> real_codes(const FlaggedNode& flagged) try {
  const Members members(flagged);
  const Member& last = members.all().back();
  if (!last.is("QuantizeLinear")) return std::nullopt;
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < last.input_count(); ++i) operands.push_back(last.has(i) ? &last.in(i) : nullptr);
  RealCodes codes{unrounded_codes(last.node(), operands).to_doubles(), 0.02};
  double step = 0;
  for (const Member& member : members.all()) step = std::max(step, integer_sum_step(member.node()));
  const auto scales = last.in(1).to_doubles();
  const double scale = scales.empty() ? 0 : *std::min_element(scales.begin(), scales.end());
  if (scale > 0) codes.near += 0.6 * step / scale;  // half a step, and what floats do to it
  return codes;
} catch (const Error&) {
  return std::nullopt;
}

// Numbers as far from a tie as one rounding of a float takes them lie on it.
bool is_on_tie(double real) {
  constexpr double kOn = 1e-7;
  return std::abs(real - std::floor(real) - 0.5) <= kOn * (1 + std::abs(real));
}

// Whether so many integers differ from the expected ones as a rule of its own makes of ties, all by one.
bool differ_often_by_one(std::span<const double> made, std::span<const double> sound) {
  constexpr double kOften = 1e-3;
  constexpr size_t kLeast = 16;
  size_t differ = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (std::abs(made[i] - sound[i]) > 1) return false;
    differ += made[i] != sound[i] ? 1 : 0;
  }
  return differ >= kLeast && static_cast<double>(differ) >= kOften * static_cast<double>(made.size());
}

}  // namespace

void deny_chance_at_ties(FlaggedNode& flagged, size_t output) {
  ElementErrors& expected = flagged.expected[output];
  const Tensor& shown = flagged.made[output];
  if (!is_integer(shown.type()) || shown.dims() != expected.value.dims()) return;
  const auto made = shown.to_doubles(), sound = expected.value.to_doubles();
  if (!differ_often_by_one(made, sound)) return;
  const auto codes = real_codes(flagged);
  if (!codes || codes->values.size() != made.size()) return;
  const auto& reals = codes->values;
  double (*const rules[])(double) = {[](double x) { return std::round(x); },
                                     [](double x) { return std::floor(x + 0.5); },
                                     [](double x) { return std::ceil(x - 0.5); }};
  const ops::ValueRange range = ops::value_range(shown.type());
  for (const auto rule : rules) {
    std::vector<size_t> otherwise;
    bool is_kept = true;
    for (size_t i = 0; i < made.size() && is_kept; ++i) {
      if (!is_on_tie(reals[i])) continue;
      const double tie = std::floor(reals[i]) + 0.5;
      is_kept = made[i] == ops::saturate(rule(tie), range);
      if (made[i] != sound[i]) otherwise.push_back(i);
    }
    constexpr size_t kNoChance = 16;  // each is rounded so by chance in one of two cases
    if (!is_kept || otherwise.size() < kNoChance) continue;
    for (const size_t i : otherwise) expected.error[i] = 0;
    return;
  }
}

bool differs_near_ties_alone(const FlaggedNode& flagged) {
  constexpr double kFew = 0.02;
  const Tensor& made = flagged.made[flagged.output];
  const Tensor& expected = flagged.expected[flagged.output].value;
  if (!is_integer(made.type()) || made.dims() != expected.dims() || made.size() == 0) return false;
  const auto codes = real_codes(flagged);
  if (!codes || codes->values.size() != static_cast<size_t>(made.size())) return false;
  const auto& reals = codes->values;
  const auto actual = made.to_doubles(), sound = expected.to_doubles();
  size_t differ = 0, on_ties = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == sound[i]) continue;
    const double tie = std::abs(reals[i] - std::floor(reals[i]) - 0.5);
    if (std::abs(actual[i] - sound[i]) != 1 || tie > codes->near) return false;
    ++differ;
    on_ties += is_on_tie(reals[i]) ? 1 : 0;
  }
  // A sum may come to lie on a tie; a rule that rounds ties otherwise changes little else.
  return 2 * on_ties <= differ &&
         static_cast<double>(differ) <= kFew * static_cast<double>(actual.size()) + 1;
}

double integer_sum_step(const Node& node, std::span<const Tensor> inputs) {
  if (ops::is_group(node)) {
    double step = 0;
    for (const auto& member : ops::body(node).nodes())
      step = std::max(step, integer_sum_step(*member, inputs));
    return step;
  }
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr || (def->traits & ops::kContraction) == 0) return 0;
  if (is_whole(node.input(2))) return 0;
  return largest_scale(node.input(0), inputs) * largest_scale(node.input(1), inputs);
}

double scale_of_codes(const Value& output, std::span<const Tensor> inputs) {
  const Node* maker = output.producer();
  const Value* inner = &output;
  if (maker != nullptr && ops::is_group(*maker)) {
    const auto place =
        std::find(maker->outputs.begin(), maker->outputs.end(), &output) - maker->outputs.begin();
    inner = ops::body(*maker).outputs[static_cast<size_t>(place)];
  }
  const auto scales = scales_of(inner, "QuantizeLinear", inputs);
  return scales.empty() ? HUGE_VAL : *std::min_element(scales.begin(), scales.end());
}

bool may_sum_integers(const NumericsContract* contract) {
  return contract == nullptr || is_integer(contract->accumulated);
}

void allow_step(double step, ElementErrors& expected) {
  if (step == 0) return;
  const double error = step / std::sqrt(12);
  for (double& each : expected.error) each = std::hypot(each, error);
}

}  // namespace vernier
