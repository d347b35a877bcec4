#include <nlohmann/json.hpp>

#include "vernier/report/diagnosis_report.h"
#include "vernier/report/json_number.h"

namespace vernier {

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

Json culprit_json(const Culprit& culprit, size_t rank) {
  Json result{{"rank", rank},
              {"nodes", culprit.nodes},
              {"values", culprit.values},
              {"class", culprit.failure.code()},
              {"title", culprit.failure.title()},
              {"sentence", culprit.sentence},
              {"confidence", number(culprit.confidence)},
              {"share", number(culprit.share)},
              {"evidence", Json::array()},
              {"rejected", Json::array()}};
  for (const Evidence& each : culprit.evidence)
    result["evidence"].push_back(
        {{"experiment", each.experiment}, {"figure", number(each.figure)}, {"sentence", each.sentence}});
  for (const RejectedCause& each : culprit.rejected)
    result["rejected"].push_back(
        {{"class", each.failure.code()}, {"residual", number(each.residual)}, {"why", each.why}});
  result["repair"] = repair_json(culprit.repair);
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
  for (size_t i = 0; i < diagnosis.culprits.size(); ++i)
    result["culprits"].push_back(culprit_json(diagnosis.culprits[i], i + 1));
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
