#include "vernier/report/precision/export_report.h"

#include <nlohmann/json.hpp>

#include "vernier/report/check_report.h"

namespace vernier {

using nlohmann::json;

std::string export_text(const ExportReport& report) {
  std::string text;
  if (!report.types.empty())
    text += fmt::format("{}; added {} Casts, {} QuantizeLinear and DequantizeLinear\n", report.types,
                        report.casts, report.quantized);
  if (report.opset != report.opset_before)
    text += fmt::format("converted from opset {} to {}\n", report.opset_before, report.opset);
  for (const std::string& note : report.notes) text += note + "\n";
  text += fmt::format("wrote {}\n", report.output);
  return report.findings.empty() ? text : text + check_text(report.output, report.findings);
}

std::string export_json(const ExportReport& report) {
  json document = {{"schema", "vernier-export"},    {"version", 1},
                   {"model", report.model},         {"file", report.output},
                   {"opset", report.opset},         {"opset_before", report.opset_before},
                   {"types", report.types},         {"casts", report.casts},
                   {"quantized", report.quantized}, {"notes", report.notes}};
  document["findings"] = json::parse(check_json(report.output, report.findings)).at("findings");
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
