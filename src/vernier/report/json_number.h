#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace vernier {

// JSON has no NaN and no Inf, and null would read as "nothing known".
template <class Json = nlohmann::json>
Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace vernier
