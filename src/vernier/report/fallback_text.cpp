#include "vernier/report/fallback_text.h"

#include <fmt/format.h>

namespace vernier {

std::string fallback_text(const FallbackShare& fallback, size_t indent) {
  if (fallback.steps == 0)
    return fmt::format("{:{}}fallbacks: none, every step runs by a kernel\n", "", indent);
  std::string text =
      fmt::format("{:{}}fallbacks: {} steps that the reference computes take {:.1f} % of the time\n", "",
                  indent, fallback.steps, 100 * fallback.share);
  if (fallback.share > kMostFallback)
    text += fmt::format(
        "{:{}}warning: more than {:.0f} % of the time goes to fallbacks; the list of steps without a kernel "
        "says why\n",
        "", indent, 100 * kMostFallback);
  return text;
}

}  // namespace vernier
