// B31: a constant is another one, as where a fused kernel has its own epsilon or scale built in.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

constexpr double kFactors[] = {1e-3, 1e-2, 0.1, 0.25, 0.5, 2, 4, 10, 100, 1000};
constexpr double kEpsilons[] = {1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1};
constexpr double kLargestEpsilon = 0.1;

bool is_pointwise(const Member& member) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"}) {
    if (member.is(op)) return true;
  }
  return false;
}

// Whether a result follows in a line from the operand, of an operator that reads others, too.
bool is_linear(const Member& member, size_t operand) {
  using ops::Role;
  return member.node().domain.empty() &&
         ops::has_trait(member.node(), ops::kProducts | ops::kNormalisation) &&
         ops::has_role(member.node(), operand, {Role::kBias, Role::kGain, Role::kMean});
}

void propose_value(const Variations& variations, size_t operand, double value) {
  variations.add_operand(fmt::format("the constant {:.4g} is {:.4g} in its place",
                                     variations.member().in(operand).to_doubles().at(0), value),
                         operand, [value](const Tensor& constant) {
                           return mapped(constant, [value](double) { return value; });
                         });
}

// The value that explains best what was made, if what was made is shown: the mean over all elements.
void propose_fitted(const Variations& variations, size_t operand, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  const Tensor* shown = made_in_place(member, 0, flagged);
  if (shown == nullptr) return;
  const auto made = shown->to_doubles(), right = member.out().to_doubles();
  const double constant = member.in(operand).to_doubles().at(0);
  double sum = 0, products = 0, squares = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!std::isfinite(made[i]) || !std::isfinite(right[i])) continue;
    sum += made[i] - right[i];
    products += made[i] * right[i];
    squares += right[i] * right[i];
  }
  const bool adds = member.is("Add") || member.is("Sub");
  const bool subtracts = member.is("Sub") && operand == 1, divides = member.is("Div") && operand == 1;
  if (!adds && !member.is("Mul") && !divides) return;
  const double moved = sum / static_cast<double>(made.size()), scaled = products / squares;
  const double value = adds      ? constant + (subtracts ? -moved : moved)
                       : divides ? constant / scaled
                                 : constant * scaled;
  if (!std::isfinite(value)) return;
  variations.add(
      fmt::format("the constant {:.4g} is {:.4g} in its place", constant, value),
      [&member, operand, value] {
        return member.with_input(operand, mapped(member.in(operand), [value](double) { return value; }));
      },
      kFittedNumber);
}

std::string times_text(const Member& member, size_t operand, double factor) {
  return fmt::format("the constant '{}' is {:.4g} times what it should be",
                     member.node().inputs[operand]->name, factor);
}

Tensor times(const Tensor& constant, double factor) {
  return mapped(constant, [factor](double value) { return factor * value; });
}

// How many times as large the constant would have to be; what is made follows from it in a line.
std::optional<double> fitted_factor(const Member& member, size_t operand, const FlaggedNode& flagged) {
  const Tensor* shown = made_in_place(member, 0, flagged);
  if (shown == nullptr) return std::nullopt;
  const auto made = shown->to_doubles(), right = member.out().to_doubles(),
             more = member.with_input(operand, times(member.in(operand), 2)).at(0).to_doubles();
  const double factor = 1 + place_on_line(made, right, more);
  return std::isfinite(factor) ? std::optional(factor) : std::nullopt;
}

void propose_fitted_factor(const Variations& variations, size_t operand, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  const auto factor = fitted_factor(member, operand, flagged);
  if (!factor) return;
  variations.add(
      times_text(member, operand, *factor),
      [&member, operand, factor = *factor] {
        return member.with_input(operand, times(member.in(operand), factor));
      },
      kFittedNumber);
}

void propose_factors(const Variations& variations, size_t operand, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  for (const double factor : kFactors)
    variations.add_operand(times_text(member, operand, factor), operand,
                           [factor](const Tensor& constant) { return times(constant, factor); });
  if (member.is("Add") || member.is("Sub") || member.is("Mul"))
    propose_fitted_factor(variations, operand, flagged);
}

}  // namespace

void propose_constants(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                       std::vector<Proposal>& proposals) {
  if (!is_float(member.declared_result())) return;
  const Variations variations(member, flagged, 31, proposals);
  for (size_t i = 1; i < member.input_count(); ++i) {
    if (is_linear(member, i) && member.has(i) && member.is_constant(i))
      propose_fitted_factor(variations, i, flagged);
  }
  if (!is_pointwise(member)) return;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i) || !member.is_constant(i) || member.in(i).size() == 0) continue;
    if (member.in(i).size() > 1) {
      propose_factors(variations, i, flagged);
      continue;
    }
    const double constant = member.in(i).to_doubles().at(0);
    const bool epsilon = constant > 0 && constant <= kLargestEpsilon && !member.is("Mul");
    for (const double other : epsilon ? std::span<const double>(kEpsilons) : std::span<const double>())
      if (other != constant) propose_value(variations, i, other);
    for (const double factor : kFactors) propose_value(variations, i, constant * factor);
    propose_fitted(variations, i, flagged);
  }
}

}  // namespace vernier
