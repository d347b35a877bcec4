// How sentences hold a figure against its bound.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace vernier {

// "31 times the bound of 0.02". Where no finite factor lies between them, as behind a NaN or beside a bound
// of 0, it does without: "beyond the bound of 0.02".
inline std::string times_bound(double times, double bound, const char* article = "the") {
  if (!std::isfinite(bound)) return "and no bound is known";
  if (!std::isfinite(times)) return fmt::format("beyond {} bound of {:.2g}", article, bound);
  return fmt::format("{:.3g} times {} bound of {:.2g}", times, article, bound);
}

}  // namespace vernier
