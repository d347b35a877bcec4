#include "vernier/check/check.h"

#include <algorithm>

#include "vernier/check/context.h"

namespace vernier {

std::string_view severity_name(Severity severity) {
  static constexpr std::string_view kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

std::span<const Rule> check_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    structure_rules(all);
    float_range_rules(all);
    float_rounding_rules(all);
    quantisation_rules(all);
    operator_rules(all);
    shape_rules(all);
    return all;
  }();
  return rules;
}

std::vector<Finding> check(const Model& model, const std::vector<std::string>& import_notes,
                           const CheckOptions& options) {
  const CheckContext context(model, options);
  std::vector<Finding> findings;
  if (!import_notes.empty()) {
    findings.push_back({.rule = "S1-declared-type",
                        .severity = Severity::kNote,
                        .effect = 0.05,
                        .node = "",
                        .message = import_notes.front(),
                        .remedy = "run shape inference over the model again, or drop its value_info",
                        .count = import_notes.size()});
  }
  for (const Rule& rule : check_rules()) rule.run(context, findings);
  rank(findings);
  return findings;
}

void rank(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.effect > b.effect;
  });
}

}  // namespace vernier
