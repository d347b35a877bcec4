#include "vernier/numeric/numerics_contract.h"

#include <fmt/format.h>

namespace vernier {

InnerRoundings NumericsContract::inner_roundings() const {
  const bool are_rounded = terms == 1 && winograd == 0;
  return {are_rounded ? operands : OperandFormat(), probabilities};
}

std::string NumericsContract::text() const {
  if (computed == ElementType::kUndefined) return "moves bits";
  std::string result = fmt::format("computed {}", element_type_short_name(computed));
  if (operands.is_defined() && terms > 1)
    result += fmt::format(", operands split into {} {}", terms, operands.text());
  else if (operands.is_defined())
    result += fmt::format(", operands {}", operands.text());
  if (accumulated != ElementType::kUndefined) {
    constexpr const char* kOrders[] = {"", " sequential", " blocked", " pairwise"};
    result += fmt::format(", accumulated {}{}", element_type_short_name(accumulated),
                          kOrders[static_cast<int>(order)]);
  }
  if (probabilities.is_defined()) result += fmt::format(", probabilities {}", probabilities.text());
  result += fmt::format(", stored {}", element_type_short_name(stored));
  if (winograd > 0) result += fmt::format(", Winograd F({0}x{0}, 3x3)", winograd);
  if (approximate) result += ", functions to a few ulp";
  if (by_formula) result += ", functions by their formulas";
  if (rounds_between) result += ", rounds between its nodes";
  if (!deterministic) result += ", not deterministic";
  return result;
}

}  // namespace vernier
