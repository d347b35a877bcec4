#include "vernier/search/target.h"

namespace vernier {

std::string TuneTarget::text() const {
  const auto option = [](const char* name, const ToleranceOption& given) {
    std::string text;
    if (given.general) text += fmt::format(" {} {}", name, *given.general);
    for (const auto& [value, number] : given.named) text += fmt::format(" {} {}:{}", name, value, number);
    return text;
  };
  if (kind == Kind::kRelativeL2) return fmt::format("relative L2 at most {}", tolerance);
  if (kind == Kind::kMetric) return fmt::format("{} at most {} points worse", metric, max_loss);
  return "every element within" + option("atol", elements.atol) + option("rtol", elements.rtol);
}

}  // namespace vernier
