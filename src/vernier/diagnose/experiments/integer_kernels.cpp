#include "vernier/diagnose/experiments/integer_kernels.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/member.h"
#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

double largest_scale(const Value* value) {
  const Node* maker = value == nullptr ? nullptr : value->producer();
  if (maker == nullptr || maker->op != "DequantizeLinear") return 0;
  const Value* scale = maker->input(1);
  if (scale == nullptr || !scale->is_constant()) return 0;
  const auto scales = scale->constant->to_doubles();
  return scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end());
}

// What a node that quantises at the end would make without rounding.
struct RealCodes {
  std::vector<double> values;
  double near = 0;  // how far sums in integers may move one
};

// Nothing where another node is the last one.
std::optional<RealCodes> real_codes(const Suspect& suspect) {
  const Members members(suspect);
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
}

}  // namespace

bool differs_near_ties_alone(const Suspect& suspect) {
  constexpr double kOn = 1e-7, kFew = 0.02;
  const Tensor& made = suspect.made[suspect.output];
  const Tensor& expected = suspect.expected[suspect.output].value;
  if (!is_integer(made.type()) || made.dims() != expected.dims() || made.size() == 0) return false;
  try {
    const auto codes = real_codes(suspect);
    if (!codes || codes->values.size() != static_cast<size_t>(made.size())) return false;
    const auto& reals = codes->values;
    const auto actual = made.to_doubles(), sound = expected.to_doubles();
    size_t differ = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] == sound[i]) continue;
      const double tie = std::abs(reals[i] - std::floor(reals[i]) - 0.5);
      if (std::abs(actual[i] - sound[i]) != 1 || tie > codes->near || tie <= kOn * (1 + std::abs(reals[i])))
        return false;
      ++differ;
    }
    return static_cast<double>(differ) <= kFew * static_cast<double>(actual.size()) + 1;
  } catch (const Error&) {
    return false;  // it cannot be run by itself
  }
}

double integer_sum_step(const Node& product) {
  const auto* def = ops::OpRegistry::instance().find(product);
  if (def == nullptr || (def->traits & ops::kContraction) == 0) return 0;
  return largest_scale(product.input(0)) * largest_scale(product.input(1));
}

void allow_step(double step, std::vector<ElementErrors>& expected) {
  if (step == 0) return;
  const double error = step / std::sqrt(12);
  for (ElementErrors& errors : expected) {
    for (double& each : errors.error) each = std::hypot(each, error);
  }
}

}  // namespace vernier
