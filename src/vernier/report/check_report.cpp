#include "vernier/report/check_report.h"

#include <nlohmann/json.hpp>

#include "vernier/report/text_table.h"

namespace vernier {

using nlohmann::json;

std::string check_text(const std::string& file, const std::vector<Finding>& findings) {
  std::string text;
  size_t errors = 0, warnings = 0;
  for (const Finding& finding : findings) {
    errors += finding.severity == Severity::kError;
    warnings += finding.severity == Severity::kWarning;
    text += fmt::format("{} {}", severity_name(finding.severity), finding.rule);
    if (!finding.node.empty()) text += fmt::format(" at '{}'", printable(finding.node, 80));
    if (finding.count > 1) text += fmt::format(" and {} more", finding.count - 1);
    text += fmt::format("\n    {}\n    remedy: {}\n", printable(finding.message, 300), finding.remedy);
  }
  return text + fmt::format("{}: {} errors, {} warnings, {} notes\n", file, errors, warnings,
                            findings.size() - errors - warnings);
}

std::string check_json(const std::string& file, const std::vector<Finding>& findings) {
  json document = {{"schema", "vernier-check"}, {"version", 1}, {"file", file}, {"findings", json::array()}};
  for (const Finding& finding : findings) {
    document["findings"].push_back({{"rule", finding.rule},
                                    {"class", finding.rule.substr(0, finding.rule.find('-'))},
                                    {"severity", severity_name(finding.severity)},
                                    {"effect", finding.effect},
                                    {"node", finding.node},
                                    {"count", finding.count},
                                    {"message", finding.message},
                                    {"remedy", finding.remedy}});
  }
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
