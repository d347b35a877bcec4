#include "vernier/check/check.h"

#include <algorithm>
#include <map>

#include "vernier/check/context.h"

namespace vernier {

namespace {

// Tells whether import cannot know the meaning; other notes tell what it worked around.
bool is_fault(const ImportNote& note) {
  return note.rule == "S10-unknown-attribute" || note.rule == "S11-unknown-operator";
}

}  // namespace

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
    quantization_rules(all);
    operator_rules(all);
    shape_rules(all);
    return all;
  }();
  return rules;
}

std::vector<Finding> check(const Model& model, const std::vector<ImportNote>& import_notes,
                           const CheckOptions& options) {
  const CheckContext context(model, options);
  std::vector<Finding> findings;
  // One finding for each rule: the first note stands for the others, which are counted.
  std::map<std::string, size_t> by_rule;
  for (const ImportNote& note : import_notes) {
    const auto [at, is_first] = by_rule.emplace(note.rule, findings.size());
    if (!is_first) {
      ++findings[at->second].count;
      continue;
    }
    findings.push_back({.rule = note.rule,
                        .severity = is_fault(note) ? Severity::kWarning : Severity::kNote,
                        .effect = is_fault(note) ? 0.5 : 0.05,
                        .node = note.node,
                        .message = note.message,
                        .remedy = note.remedy});
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
