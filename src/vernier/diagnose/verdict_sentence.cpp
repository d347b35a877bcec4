#include <fmt/ranges.h>

#include <cmath>

#include "vernier/diagnose/bounds/error_split.h"
#include "vernier/diagnose/diagnose.h"

namespace vernier {

namespace {

std::string of_worst_output(const Diagnosis& diagnosis) {
  const ErrorSplit* worst = nullptr;
  const auto excess = [](const ErrorSplit& split) { return split.bound > 0 ? split.needs / split.bound : 0; };
  for (const ErrorSplit& split : diagnosis.split) {
    if (worst == nullptr || excess(split) > excess(*worst)) worst = &split;
  }
  return worst == nullptr ? "" : fmt::format("'{}' is {}", worst->output, worst->sentence);
}

// Whether the engine makes what its plan means, and the plan alone is what the outputs are off by.
bool only_plan_is_off(const Diagnosis& diagnosis) {
  constexpr double kLittle = 0.1;
  bool costs = false;
  for (const ErrorSplit& split : diagnosis.split) {
    if (split.needs <= split.bound) continue;
    if (!std::isfinite(split.planned_engine) || split.planned_engine > kLittle * split.needs) return false;
    costs = true;
  }
  return costs;
}

}  // namespace

std::string verdict_sentence(const Diagnosis& diagnosis, const std::string& engine,
                             const Repeatability& repeatability) {
  if (!diagnosis.root_causes.empty()) {
    const RootCause& first = diagnosis.root_causes.front();
    // The model, or the engine that it is compared with, may be the one that is wrong.
    const bool is_own =
        first.sentence.rfind("the reference lies", 0) != 0 && first.sentence.rfind("not the engine", 0) != 0;
    std::string text = fmt::format("{} is {}: {}", engine, is_own ? "wrong" : "sound", first.sentence);
    if (first.failure.is_explained())
      text += fmt::format(" ({}, {})", first.failure.code(), first.failure.title());
    if (diagnosis.root_causes.size() > 1)
      text += fmt::format("; {} more root causes", diagnosis.root_causes.size() - 1);
    return text;
  }
  if (!repeatability.is_repeatable())
    return fmt::format("{} gives other answers on the same inputs: '{}' differ", engine,
                       fmt::join(repeatability.outputs, "', '"));
  const std::string worst = of_worst_output(diagnosis);
  if (diagnosis.healthy && !within_bounds(diagnosis.split))
    return fmt::format("{} is within tolerance, but {}", engine, worst);
  if (diagnosis.healthy) return fmt::format("{} is healthy{}", engine, worst.empty() ? "" : ": " + worst);
  if (!diagnosis.notes.empty() && diagnosis.split.empty())
    return fmt::format("{} could not be judged: {}", engine, diagnosis.notes.front());
  if (only_plan_is_off(diagnosis))
    return fmt::format("{} is sound, but its plan costs more than rounding explains: {}", engine, worst);
  return fmt::format("{} differs, and no node of it does on what it reads{}", engine,
                     worst.empty() ? "" : ": " + worst);
}

}  // namespace vernier
