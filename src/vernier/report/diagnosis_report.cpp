#include "vernier/report/diagnosis_report.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

constexpr size_t kWidth = 200;

std::string figure(double value) {
  return std::isfinite(value) ? fmt::format("{:.2g}", value) : "-";
}

std::string figure_or_infinite(double value) {
  return std::isfinite(value) ? fmt::format("{:.2g}", value) : "infinite";
}

std::string split_table(const std::vector<ErrorSplit>& split) {
  TextTable table({"output", "ideal-declared", "declared-planned", "planned-engine", "needs", "bound"}, 1);
  std::string sentences;
  for (const ErrorSplit& each : split) {
    table.add({printable(each.output, 40), figure(each.ideal_declared), figure(each.declared_planned),
               figure(each.planned_engine), figure(each.needs), figure(each.bound)});
    sentences += fmt::format("  '{}' is {}\n", printable(each.output, 40), each.sentence);
  }
  return "\nwhere the error of the outputs comes from (relative L2)\n" + table.text(2) + sentences;
}

std::string repair_text(const Repair& repair, bool detailed) {
  std::string text;
  if (!repair.sentence.empty())
    text += fmt::format("   repair: {}\n", printable(repair.sentence, 4 * kWidth));
  if (const auto& verified = repair.verified) {
    text += fmt::format(
        "   verified: the error falls from {} to {}{}{}\n", figure_or_infinite(verified->relative_l2_before),
        figure_or_infinite(verified->relative_l2_after), verified->passes ? ", and the engine passes" : "",
        verified->cost_percent ? fmt::format("; it costs {:.0f} % of time", *verified->cost_percent) : "");
  }
  // Rejected repairs matter only where none holds.
  for (const RejectedRepair& each : repair.rejected) {
    if (detailed || repair.kind == Repair::Kind::kNone)
      text += fmt::format("   not repaired by: {}: {}\n", printable(each.what, kWidth),
                          printable(each.why, kWidth));
  }
  return text;
}

std::string root_cause_text(const RootCause& root_cause, size_t rank, bool detailed) {
  std::string text = fmt::format("\n{}. {} {}: {}\n", rank, root_cause.failure.code(),
                                 root_cause.failure.title(), printable(root_cause.sentence, kWidth));
  text += fmt::format("   {:.0f} % of the error of the outputs, confidence {:.2f}\n", 100 * root_cause.share,
                      root_cause.confidence);
  for (const Evidence& each : root_cause.evidence)
    text += fmt::format("   {}: {}\n", each.experiment, printable(each.sentence, 2 * kWidth));
  for (const RejectedCause& each : root_cause.rejected) {
    if (detailed) text += fmt::format("   not {}: {}\n", each.failure.code(), printable(each.why, kWidth));
  }
  return text + repair_text(root_cause.repair, detailed);
}

// Nothing where all samples fail, or none does.
std::string samples_text(const std::vector<SampleOutcome>& samples) {
  std::vector<std::string> failing;
  for (const SampleOutcome& each : samples) {
    if (each.fails) failing.push_back(std::to_string(each.sample));
  }
  if (failing.empty() || failing.size() == samples.size()) return "";
  return fmt::format("\nof {} samples {} fail: {}\n", samples.size(), failing.size(),
                     fmt::join(failing, ", "));
}

std::string engines_table(const std::vector<EngineAgreement>& engines) {
  TextTable table({"engine", "verdict", "agrees with", "differs from", "made by"}, 1);
  for (const EngineAgreement& each : engines) {
    const auto& first = each.first_difference;
    table.add({printable(each.name, 40), std::string(verdict_name(each.verdict)),
               each.agrees_with.empty() ? "nobody" : fmt::format("{}", fmt::join(each.agrees_with, ", ")),
               first ? printable(first->value, 40) : "-",
               first ? printable(fmt::format("{}", fmt::join(first->nodes, ", ")), 60) : "-"});
  }
  return "\nwhich engines agree\n" + table.text(2);
}

}  // namespace

std::string diagnosis_text(const DiagnosisReport& report, bool detailed) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string text = fmt::format("{}\n", printable(diagnosis.sentence, 4 * kWidth));
  for (size_t i = 0; i < diagnosis.root_causes.size(); ++i)
    text += root_cause_text(diagnosis.root_causes[i], i + 1, detailed);
  if (!diagnosis.split.empty()) text += split_table(diagnosis.split);
  if (!diagnosis.engines.empty()) text += engines_table(diagnosis.engines);
  text += samples_text(diagnosis.samples);
  for (const std::string& note : diagnosis.notes)
    text += fmt::format("note: {}\n", printable(note, 2 * kWidth));
  if (detailed) {
    for (const Experiment& each : diagnosis.experiments)
      text += fmt::format("experiment: {}, {} runs, {:.2f} s\n", each.name, each.runs, each.seconds);
    for (const auto& [name, value] : report.options) text += fmt::format("option {}: {}\n", name, value);
    for (const auto& [name, value] : report.environment)
      text += fmt::format("environment {}: {}\n", name, value);
  }
  return text + fmt::format("verdict: {} ({:.1f} s)\n", verdict_name(diagnosis.verdict), diagnosis.seconds);
}

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return json_number<Json>(value);
}

Json split_json(const ErrorSplit& split) {
  return {{"output", split.output},
          {"ideal_declared", number(split.ideal_declared)},
          {"declared_planned", number(split.declared_planned)},
          {"planned_engine", number(split.planned_engine)},
          {"needs", number(split.needs)},
          {"bound", number(split.bound)},
          {"sentence", split.sentence}};
}

Json repair_json(const Repair& repair) {
  Json result{{"kind", repair_kind_name(repair.kind)},
              {"sentence", repair.sentence},
              {"file", repair.file.empty() ? Json() : Json(repair.file)},
              {"verified", nullptr},
              {"rejected", Json::array()}};
  if (const auto& verified = repair.verified) {
    result["verified"] = {{"relative_l2_before", number(verified->relative_l2_before)},
                          {"relative_l2_after", number(verified->relative_l2_after)},
                          {"cost_percent", verified->cost_percent ? number(*verified->cost_percent) : Json()},
                          {"samples", verified->samples},
                          {"passes", verified->passes}};
  }
  for (const RejectedRepair& each : repair.rejected)
    result["rejected"].push_back({{"what", each.what}, {"why", each.why}});
  return result;
}

Json root_cause_json(const RootCause& root_cause, size_t rank) {
  Json result{{"rank", rank},
              {"nodes", root_cause.nodes},
              {"values", root_cause.values},
              {"class", root_cause.failure.code()},
              {"title", root_cause.failure.title()},
              {"sentence", root_cause.sentence},
              {"confidence", number(root_cause.confidence)},
              {"share", number(root_cause.share)},
              {"evidence", Json::array()},
              {"rejected", Json::array()}};
  for (const Evidence& each : root_cause.evidence)
    result["evidence"].push_back(
        {{"experiment", each.experiment}, {"figure", number(each.figure)}, {"sentence", each.sentence}});
  for (const RejectedCause& each : root_cause.rejected)
    result["rejected"].push_back(
        {{"class", each.failure.code()}, {"residual", number(each.residual)}, {"why", each.why}});
  result["repair"] = repair_json(root_cause.repair);
  return result;
}

Json engine_json(const EngineAgreement& engine) {
  Json result{{"name", engine.name},
              {"verdict", verdict_name(engine.verdict)},
              {"agrees_with", engine.agrees_with},
              {"first_difference", nullptr}};
  if (engine.first_difference)
    result["first_difference"] = {{"value", engine.first_difference->value},
                                  {"nodes", engine.first_difference->nodes}};
  return result;
}

}  // namespace

std::string diagnosis_json(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  Json result{{"schema", "vernier-diagnosis"},
              {"version", 1},
              {"verdict", verdict_name(diagnosis.verdict)},
              {"healthy", diagnosis.healthy},
              {"sentence", diagnosis.sentence},
              {"options", report.options},
              {"environment", report.environment},
              {"split", Json::array()},
              {"culprits", Json::array()},
              {"engines", Json::array()},
              {"samples", Json::array()},
              {"experiments", Json::array()}};
  for (const ErrorSplit& each : diagnosis.split) result["split"].push_back(split_json(each));
  for (size_t i = 0; i < diagnosis.root_causes.size(); ++i)
    result["culprits"].push_back(root_cause_json(diagnosis.root_causes[i], i + 1));
  for (const EngineAgreement& each : diagnosis.engines) result["engines"].push_back(engine_json(each));
  for (const SampleOutcome& each : diagnosis.samples)
    result["samples"].push_back({{"sample", each.sample}, {"origin", each.origin}, {"fails", each.fails}});
  for (const Experiment& each : diagnosis.experiments)
    result["experiments"].push_back(
        {{"name", each.name}, {"runs", each.runs}, {"seconds", number(each.seconds)}});
  result["notes"] = diagnosis.notes;
  result["seconds"] = number(diagnosis.seconds);
  // Names come from the model and need not be UTF-8.
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
