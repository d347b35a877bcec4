#include <nlohmann/json.hpp>

#include "vernier/report/json_number.h"
#include "vernier/report/reduction_report.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json symptom_json(const Symptom& symptom) {
  return {{"kind", symptom_name(symptom.kind)},
          {"outputs", symptom.outputs},
          {"error", json_number<Json>(symptom.error)},
          {"sentence", symptom.sentence}};
}

Json size_json(const CaseSize& size) {
  return {{"nodes", size.nodes}, {"constant_bytes", size.constant_bytes}, {"input_bytes", size.input_bytes}};
}

}  // namespace

std::string reduction_json(const ReductionReport& report) {
  const Reduction& reduction = report.reduction;
  Json result{{"schema", "vernier-reduction"},
              {"version", 1},
              {"options", report.options},
              {"environment", report.environment},
              {"verdict", symptom_json(reduction.whole)},
              {"reduced_verdict", symptom_json(reduction.judgement.symptom)},
              {"before", size_json(reduction.before)},
              {"after", size_json(reduction.after)},
              {"steps", Json::array()}};
  for (const ReductionStep& each : reduction.steps)
    result["steps"].push_back({{"name", each.name},
                               {"tried", each.tried},
                               {"kept", each.kept},
                               {"seconds", json_number<Json>(each.seconds)},
                               {"nodes", each.nodes},
                               {"constant_bytes", each.bytes}});
  result["anonymised"] = nullptr;
  if (reduction.anonymisation)
    result["anonymised"] = {{"tensors", reduction.anonymisation->tensors},
                            {"names", reduction.anonymisation->names},
                            {"kept", reduction.anonymisation->kept}};
  result["causes"] = nullptr;
  if (report.causes) result["causes"] = {{"before", report.causes->before}, {"after", report.causes->after}};
  result["finished"] = reduction.is_finished;
  result["notes"] = reduction.notes;
  result["folder"] = report.folder;
  result["files"] = report.files;
  result["seconds"] = json_number<Json>(reduction.seconds);
  // Names come from the model and need not be UTF-8.
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
