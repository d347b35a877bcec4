#include "vernier/report/evaluation_report.h"

#include <fmt/format.h>

#include "vernier/base/hash.h"
#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

std::string figure(double value) {
  return fmt::format("{:.5g}", value);
}

std::string range(const ConfidenceInterval& interval) {
  return fmt::format("[{}, {}]", figure(interval.low), figure(interval.high));
}

std::string named(const EvaluationOutcome::Metric& metric) {
  return metric.unit.empty() ? metric.name : metric.name + ", " + metric.unit;
}

std::string values_text(const EvaluationOutcome& outcome) {
  TextTable table({"runner", "metric", "value", "95 %", "rows"}, 2);
  std::string failures;
  for (const auto& runner : outcome.runners) {
    for (const auto& value : runner.values)
      table.add({printable(runner.name, 40), printable(named(outcome.metrics[value.metric]), 40),
                 figure(value.value), range(value.ci95), std::to_string(value.rows)});
    if (runner.failures > 0)
      failures +=
          fmt::format("{} failed on {} of {} samples, and is not compared: {}\n", printable(runner.name, 40),
                      runner.failures, outcome.samples, printable(runner.failure, 300));
  }
  return table.text(2) + failures;
}

std::string changes_text(const EvaluationOutcome::Difference& difference, size_t max_changes) {
  TextTable table({"sample", "row", "from", difference.baseline, difference.runner, "lost"}, 3);
  for (const auto& change : difference.changes) {
    if (table.rows() == max_changes) break;
    table.add({std::to_string(change.sample), std::to_string(change.row), printable(change.origin, 50),
               figure(change.baseline), figure(change.runner), figure(change.lost)});
  }
  return table.rows() == 0 ? "" : table.text(4);
}

std::string difference_text(const EvaluationOutcome& outcome, const EvaluationOutcome::Difference& difference,
                            size_t max_changes) {
  const auto& metric = outcome.metrics[difference.metric];
  std::string text = fmt::format("\n{} against {}, {}: {:+.4g} (95 %: {:+.4g} to {:+.4g}), p = {:.3g}",
                                 printable(difference.runner, 40), printable(difference.baseline, 40),
                                 printable(named(metric), 40), difference.difference, difference.ci95.low,
                                 difference.ci95.high, difference.p);
  if (outcome.differences.size() > 1) text += fmt::format(" (Holm {:.3g})", difference.p_adjusted);
  text += metric.kind == "hits"
              ? fmt::format("; {} rows right no more, {} right now\n", difference.lost, difference.gained)
              : fmt::format("; {} rows worse, {} better\n", difference.lost, difference.gained);
  if (difference.gate)
    text +=
        fmt::format("  {}: {} (at most {:.4g}, p = {:.3g})\n", verdict_name(difference.gate->verdict),
                    difference.gate->sentence, difference.gate->evidence.bound, difference.gate->p_adjusted);
  return text + changes_text(difference, max_changes);
}

}  // namespace

std::string evaluation_text(const EvaluationReport& report, size_t max_changes) {
  const EvaluationOutcome& outcome = report.outcome;
  std::string text;
  for (const auto& [title, map] :
       {std::pair("options", &report.subject.options), std::pair("environment", &report.environment)}) {
    text += fmt::format("{}\n", title);
    for (const auto& [key, value] : *map) text += fmt::format("  {}: {}\n", key, printable(value, 100));
  }
  text += fmt::format("\n{} on {} samples ({})\n", printable(report.subject.model, 100), outcome.samples,
                      report.subject.data_format);
  text += values_text(outcome);
  for (const auto& difference : outcome.differences)
    text += difference_text(outcome, difference, max_changes);
  for (const std::string& note : outcome.notes) text += fmt::format("note: {}\n", note);
  if (outcome.is_judged()) text += fmt::format("\nverdict: {}\n", verdict_name(outcome.verdict()));
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return json_number<Json>(value);
}

Json range_json(const ConfidenceInterval& interval) {
  return {number(interval.low), number(interval.high)};
}

Json metric_json(const EvaluationOutcome::Metric& metric) {
  return {{"name", metric.name},
          {"kind", metric.kind},
          {"unit", metric.unit},
          {"higher_is_better", metric.higher_is_better},
          {"description", metric.description},
          {"intervals", metric.intervals},
          {"test", metric.test}};
}

Json runner_json(const EvaluationReport& report, size_t at) {
  const auto& runner = report.outcome.runners[at];
  Json values = Json::array();
  for (const auto& value : runner.values)
    values.push_back({{"metric", report.outcome.metrics[value.metric].name},
                      {"value", number(value.value)},
                      {"ci95", range_json(value.ci95)},
                      {"rows", value.rows}});
  return {{"name", runner.name},
          {"description", report.subject.runners[at].description},
          {"values", values},
          {"failures", runner.failures},
          {"failure", runner.failure}};
}

Json gate_json(const EvaluationOutcome::Gate& gate) {
  return {{"limit", gate.limit},
          {"verdict", verdict_name(gate.verdict)},
          {"drop", number(gate.evidence.drop)},
          {"bound95", number(gate.evidence.bound)},
          {"p", number(gate.evidence.p_below)},
          {"p_holm", number(gate.p_adjusted)},
          {"samples_needed", gate.evidence.rows_needed ? Json(*gate.evidence.rows_needed) : Json()},
          {"sentence", gate.sentence}};
}

Json difference_json(const EvaluationOutcome& outcome, const EvaluationOutcome::Difference& difference) {
  Json changes = Json::array();
  for (const auto& change : difference.changes)
    changes.push_back({{"sample", change.sample},
                       {"row", change.row},
                       {"origin", change.origin},
                       {"baseline", number(change.baseline)},
                       {"runner", number(change.runner)},
                       {"lost", number(change.lost)}});
  return {{"runner", difference.runner},
          {"baseline", difference.baseline},
          {"metric", outcome.metrics[difference.metric].name},
          {"difference", number(difference.difference)},
          {"ci95", range_json(difference.ci95)},
          {"p", number(difference.p)},
          {"p_holm", number(difference.p_adjusted)},
          {"lost", difference.lost},
          {"gained", difference.gained},
          {"gate", difference.gate ? gate_json(*difference.gate) : Json()},
          {"flipped", changes}};
}

}  // namespace

std::string evaluation_json(const EvaluationReport& report) {
  const auto& [subject, environment, outcome] = report;
  Json root = {{"schema", "vernier-evaluation"},
               {"version", 1},
               {"verdict", outcome.is_judged() ? Json(verdict_name(outcome.verdict())) : Json()},
               {"model", subject.model},
               {"model_hash", subject.model_hash},
               {"options", subject.options},
               {"environment", environment}};
  root["data"] = {{"format", subject.data_format},
                  {"samples", outcome.samples},
                  {"hash", hash_to_text(outcome.inputs_hash)},
                  {"classes", subject.classes}};
  root["against"] = subject.runners[subject.against].name;
  root["metrics"] = Json::array();
  for (const auto& metric : outcome.metrics) root["metrics"].push_back(metric_json(metric));
  root["runners"] = Json::array();
  for (size_t i = 0; i < outcome.runners.size(); ++i) root["runners"].push_back(runner_json(report, i));
  root["differences"] = Json::array();
  for (const auto& difference : outcome.differences)
    root["differences"].push_back(difference_json(outcome, difference));
  root["notes"] = outcome.notes;
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
