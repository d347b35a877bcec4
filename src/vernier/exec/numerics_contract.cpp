#include "vernier/exec/numerics_contract.h"

namespace vernier {

std::string NumericsContract::text() const {
  if (computed == ElementType::kUndefined) return "moves bits";
  std::string result = fmt::format("computed {}", element_type_short_name(computed));
  if (accumulated != ElementType::kUndefined) {
    constexpr const char* kOrders[] = {"", " sequential", " blocked", " pairwise"};
    result += fmt::format(", accumulated {}{}", element_type_short_name(accumulated),
                          kOrders[static_cast<int>(order)]);
  }
  result += fmt::format(", stored {}", element_type_short_name(stored));
  if (winograd) result += ", Winograd";
  if (approximate) result += ", functions to a few ulp";
  if (!deterministic) result += ", not deterministic";
  return result;
}

}  // namespace vernier
