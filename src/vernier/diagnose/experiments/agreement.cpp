#include "vernier/diagnose/experiments/agreement.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/diagnose/causes/distance.h"

namespace vernier {

namespace {

bool is_right(const ComparedEngine& engine) {
  return engine.comparison->verdict == Verdict::kPass || engine.comparison->verdict == Verdict::kMistrusted;
}

// Whether two engines err alike.
bool is_same_error(const ComparedEngine& a, const ComparedEngine& b, const OutputsBySample& right) {
  constexpr double kMuchNearer = 0.1;
  size_t compared = 0;
  for (const auto& [sample, outputs] : *a.outputs) {
    const auto other = b.outputs->find(sample), known = right.find(sample);
    if (other == b.outputs->end()) return false;
    if (known == right.end()) continue;
    const double between = bounded_distance(outputs, other->second, known->second),
                 error = std::max(bounded_distance(outputs, known->second, known->second),
                                  bounded_distance(other->second, known->second, known->second));
    if (between > kMuchNearer * error) return false;
    ++compared;
  }
  return compared > 0 && a.outputs->size() == b.outputs->size();
}

std::string quoted(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace

std::vector<EngineAgreement> agreements(const std::vector<ComparedEngine>& engines,
                                        const std::string& against, const OutputsBySample& right) {
  std::vector<EngineAgreement> result;
  for (const ComparedEngine& engine : engines) {
    EngineAgreement& each = result.emplace_back();
    each.name = engine.name;
    each.verdict = engine.comparison->verdict;
    if (is_right(engine)) each.agrees_with.push_back(against);
    for (const ComparedEngine& other : engines) {
      if (&other == &engine) continue;
      const bool both_right = is_right(engine) && is_right(other),
                 both_wrong = !is_right(engine) && !is_right(other);
      if (both_right || (both_wrong && is_same_error(engine, other, right)))
        each.agrees_with.push_back(other.name);
    }
  }
  return result;
}

std::string agreement_sentence(const std::vector<EngineAgreement>& engines) {
  std::vector<std::string> parts;
  for (const EngineAgreement& engine : engines) {
    std::string part = engine.agrees_with.empty()
                           ? fmt::format("'{}' stands alone", engine.name)
                           : fmt::format("'{}' agrees with {}", engine.name, quoted(engine.agrees_with));
    if (engine.first_difference)
      part += fmt::format(", and differs from '{}' on", engine.first_difference->value);
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace vernier
