// B31: a function or a factor too many, on an operand or on the result: an activation that is fused on the
// wrong side of its neighbour, a scale that is applied once more, a sign.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

struct Function {
  const char* name;
  double (*of)(double);
};

constexpr Function kFunctions[] = {
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Clip to 0 and 6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Abs", [](double x) { return std::abs(x); }},
    {"Swish", [](double x) { return x / (1 + std::exp(-x)); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
};
constexpr double kFactors[] = {-1, 0.25, 0.5, 2, 4};

bool computes_floats(const Member& member) {
  const auto* def = ops::OpRegistry::instance().find(member.node());
  return def != nullptr && (def->traits & (ops::kView | ops::kControlFlow)) == 0 &&
         member.node().regions.empty() && is_float(member.declared_result()) && member.out().size() > 1;
}

// Truth values that are taken for their opposites, by a kernel for the opposite operator, or one that reads a
// mask the other way.
void propose_negations(const Variations& variations) {
  const Member& member = variations.member();
  const auto* def = ops::OpRegistry::instance().find(member.node());
  if (def == nullptr || (def->traits & ops::kPointwise) == 0) return;
  const auto negated = [](const Tensor& truth) {
    return mapped(truth, [](double each) { return each == 0 ? 1 : 0; });
  };
  if (member.declared_result() == ElementType::kBool)
    variations.add_result("its result is true where it should be false", negated);
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (member.has(i) && member.in(i).type() == ElementType::kBool)
      variations.add_operand(fmt::format("operand {} is taken for its opposite", i), i, negated);
  }
}

void propose_of_result(const Variations& variations, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  for (const Function& function : kFunctions)
    variations.add_result(fmt::format("{} is applied to its result, too", function.name),
                          [of = function.of](const Tensor& right) { return mapped(right, of); });
  const Tensor* shown = made_in_place(member, 0, flagged);
  if (shown == nullptr) return;
  const auto made = shown->to_doubles(), right = member.out().to_doubles();
  const double factor = place_on_line(made, std::vector<double>(right.size(), 0), right);
  if (!std::isfinite(factor)) return;
  variations.add(
      fmt::format("its result is {:.4g} times what it should be", factor),
      [&member, factor] {
        Tensors results = member.outputs();
        results[0] = mapped(results[0], [factor](double x) { return factor * x; });
        return results;
      },
      kFittedNumber);
}

// A product follows from its operands in a line, so that a factor of one is a factor of the weights, or the
// result.
void propose_of_operand(const Variations& variations, size_t operand) {
  const std::string name = fmt::format("operand {}", operand);
  for (const Function& function : kFunctions)
    variations.add_operand(fmt::format("{} is applied to {}, too", function.name, name), operand,
                           [of = function.of](const Tensor& right) { return mapped(right, of); });
  const auto* def = ops::OpRegistry::instance().find(variations.member().node());
  if (def != nullptr && (def->traits & ops::kContraction) != 0) return;
  for (const double factor : kFactors)
    variations.add_operand(
        fmt::format("{} is {} times what it should be", name, factor), operand,
        [factor](const Tensor& right) { return mapped(right, [factor](double x) { return factor * x; }); });
}

}  // namespace

void propose_added_functions(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                             std::vector<Proposal>& proposals) {
  constexpr int64_t kLarge = 1 << 20;  // elements
  const Variations variations(member, flagged, 31, proposals);
  propose_negations(variations);
  if (!computes_floats(member) || member.out().size() > kLarge) return;
  propose_of_result(variations, flagged);
  for (size_t i = 0; i < std::min<size_t>(2, member.input_count()); ++i) {
    if (member.has(i) && is_float(member.in(i).type()) && !member.is_constant(i))
      propose_of_operand(variations, i);
  }
}

}  // namespace vernier
