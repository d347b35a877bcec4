#include "vernier/numeric/numerics_contract.h"

#include <fmt/format.h>

namespace vernier {

std::string NumericsContract::text() const {
  if (computed == ElementType::kUndefined) return "moves bits";
  std::string result = fmt::format("computed {}", element_type_short_name(computed));
  if (operands != ElementType::kUndefined && terms > 1)
    result += fmt::format(", operands split into {} {}", terms, element_type_short_name(operands));
  else if (operands != ElementType::kUndefined)
    result += fmt::format(", operands {}", element_type_short_name(operands));
  if (accumulated != ElementType::kUndefined) {
    constexpr const char* kOrders[] = {"", " sequential", " blocked", " pairwise"};
    result += fmt::format(", accumulated {}{}", element_type_short_name(accumulated),
                          kOrders[static_cast<int>(order)]);
  }
  if (probabilities != ElementType::kUndefined)
    result += fmt::format(", probabilities {}", element_type_short_name(probabilities));
  result += fmt::format(", stored {}", element_type_short_name(stored));
  if (winograd > 0) result += fmt::format(", Winograd F({0}x{0}, 3x3)", winograd);
  if (approximate) result += ", functions to a few ulp";
  if (rounds_between) result += ", rounds between its nodes";
  if (!deterministic) result += ", not deterministic";
  return result;
}

}  // namespace vernier
