#include "vernier/report/reduction_report.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

constexpr size_t kWidth = 300;

std::string sizes_table(const Reduction& reduction) {
  TextTable table({"", "nodes", "constants", "inputs"}, 1);
  const auto add = [&](const char* name, const CaseSize& size) {
    table.add({name, std::to_string(size.nodes), fmt::format("{} bytes", size.constant_bytes),
               fmt::format("{} bytes", size.input_bytes)});
  };
  add("the whole model", reduction.before);
  add("what is left", reduction.after);
  return table.text(2);
}

std::string steps_table(const std::vector<ReductionStep>& steps) {
  TextTable table({"step", "tried", "kept", "seconds", "nodes", "constants"}, 1);
  for (const ReductionStep& each : steps) {
    if (each.tried == 0) continue;
    table.add({each.name, std::to_string(each.tried), std::to_string(each.kept),
               fmt::format("{:.1f}", each.seconds), std::to_string(each.nodes),
               fmt::format("{} bytes", each.bytes)});
  }
  return table.text(2);
}

std::string anonymisation_text(const Anonymisation& done) {
  std::string text = fmt::format("\nanonymised: the content of {} tensors; names are {}\n", done.tensors,
                                 done.names ? "plain" : "as they were");
  for (const std::string& each : done.kept)
    text += fmt::format("  not replaced: {}\n", printable(each, kWidth));
  return text;
}

std::string preamble(const ReductionReport& report) {
  std::string text;
  for (const auto* facts : {&report.options, &report.environment}) {
    for (const auto& [key, value] : *facts)
      text += fmt::format("{}: {}\n", printable(key, kWidth), printable(value, kWidth));
  }
  return text + "\n";
}

}  // namespace

std::string reduction_text(const ReductionReport& report, bool detailed) {
  const Reduction& reduction = report.reduction;
  std::string text = detailed ? preamble(report) : "";
  text += fmt::format("{} of {} nodes show it: {}\n\n", reduction.after.nodes, reduction.before.nodes,
                      printable(reduction.judgement.symptom.sentence, kWidth));
  text += sizes_table(reduction) + "\n" + steps_table(reduction.steps);
  if (!reduction.is_finished)
    text += "\nthe time was over, or it was interrupted: it may become smaller still\n";
  if (reduction.anonymisation) text += anonymisation_text(*reduction.anonymisation);
  if (report.causes)
    text += fmt::format("\ncause by diagnosis: {} of the whole model, {} of what is left{}\n",
                        report.causes->before, report.causes->after,
                        report.causes->before == report.causes->after ? "" : " — it may be another fault");
  for (const std::string& note : reduction.notes)
    text += fmt::format("\nnote: {}\n", printable(note, kWidth));
  return text + fmt::format("\nwrote {} ({}) in {:.1f} s\n", printable(report.folder, kWidth),
                            fmt::join(report.files, ", "), reduction.seconds);
}

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
