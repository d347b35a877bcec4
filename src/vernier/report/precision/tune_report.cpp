#include "vernier/report/precision/tune_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

constexpr size_t kShownSensitivities = 10;

std::string figure(double value) {
  return std::isfinite(value) ? fmt::format("{:.2g}", value) : "not finite";
}

std::string score_text(const TuneReport::Score& score) {
  if (score.metric) return fmt::format("{:.2f}", *score.metric);
  return figure(score.deviation);
}

std::vector<std::string> cells(const TuneReport::Point& point, const std::string& remark) {
  if (!point.failure.empty())
    return {printable(point.plan, 50), point.types, "-", "-", "-", "-", "-", printable(point.failure, 60)};
  const bool holds = point.selection.holds && point.held_out.holds;
  return {printable(point.plan, 50),
          point.types,
          fmt::format("{:.4g}", point.latency_ms),
          fmt::format("{:.3f} [{:.3f}, {:.3f}]", point.ratio, point.low, point.high),
          figure(std::max(point.selection.error, point.held_out.error)),
          score_text(point.selection),
          score_text(point.held_out),
          holds                   ? remark
          : point.selection.holds ? "refused by held-out data"
                                  : "beyond the target"};
}

std::string points_text(const TuneReport& report) {
  const bool metric = report.baseline.selection.metric.has_value();
  const std::string judged = metric ? "points" : report.unit;
  TextTable table(
      {"plan", "types", "ms", "times baseline, 95 %", "error", judged + ", selection", "held out", ""}, 2);
  const auto add = [&](const TuneReport::Point& point) {
    const bool chosen =
        report.chosen && report.chosen->types == point.types && report.chosen->latency_ms == point.latency_ms;
    table.add(cells(point, chosen ? "chosen" : "holds"));
  };
  for (const auto& point : report.front) add(point);
  for (const auto& point : report.dominated) add(point);
  return table.text(2);
}

std::string confirmation_text(const TuneReport& report) {
  if (!report.confirmed) return "";
  const auto& [held_out, share, loss] = *report.confirmed;
  std::string text = fmt::format("confirmed on {} samples that it was not chosen on: ", held_out.samples);
  if (held_out.metric) {
    text += fmt::format("{:.2f} points, {:.3g} lost", *held_out.metric, held_out.deviation);
    if (loss) text += fmt::format(" (95 %: {:.3g} to {:.3g})", loss->first, loss->second);
    return text + "\n";
  }
  return text + fmt::format(
                    "{} of them beyond the target, so with 95 % certainty at most {:.0f} % of such samples\n",
                    held_out.beyond, 100 * share);
}

std::string sensitivities_text(const TuneReport& report, bool detailed) {
  if (report.sensitivities.empty()) return "";
  TextTable table({"lowered alone", "type", "gain, ms", "error"}, 2);
  const size_t shown =
      detailed ? report.sensitivities.size() : std::min(kShownSensitivities, report.sensitivities.size());
  for (size_t i = 0; i < shown; ++i) {
    const auto& each = report.sensitivities[i];
    table.add({printable(fmt::format("{}", fmt::join(each.nodes, ", ")), 60), each.type,
               fmt::format("{:.4f}", each.gain_ms), figure(each.error)});
  }
  std::string text = "\nwhat lowering a part alone gains and costs\n" + table.text(2);
  if (shown < report.sensitivities.size())
    text += fmt::format("  … and {} more (-v shows all)\n", report.sensitivities.size() - shown);
  return text;
}

std::string conclusion(const TuneReport& report) {
  if (report.chosen)
    return fmt::format("chosen: {}, {:.2f} times as fast as {}\n", printable(report.chosen->plan, 100),
                       1 / report.chosen->ratio, report.baseline.plan);
  if (!report.closest) return "no plan keeps the target\n";
  const double deviation = std::max(report.closest->selection.deviation, report.closest->held_out.deviation);
  return fmt::format("no plan keeps the target ({}): the closest, {}, has {} {}\n", report.target,
                     printable(report.closest->plan, 100), figure(deviation), report.unit);
}

}  // namespace

std::string tune_text(const TuneReport& report, bool detailed) {
  std::string text;
  for (const auto& [title, map] :
       {std::pair("options", &report.options), std::pair("environment", &report.environment)}) {
    text += fmt::format("{}\n", title);
    for (const auto& [key, value] : *map) text += fmt::format("  {}: {}\n", key, printable(value, 100));
  }
  text += fmt::format("\n{}: {}; {} parts may have types of their own\n", printable(report.model, 100),
                      report.target, report.units);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", printable(note, 300));
  text += points_text(report);
  text += sensitivities_text(report, detailed);
  text += fmt::format("\n{} probes{} in {:.1f} s{}\n", report.probes,
                      report.remembered > 0 ? fmt::format(" ({} known from before)", report.remembered) : "",
                      report.seconds,
                      report.interrupted ? ", then interrupted: the best so far"
                      : !report.finished ? ", then the budget was spent: the best so far"
                                         : "");
  return text + conclusion(report) + confirmation_text(report);
}

namespace {

using Json = nlohmann::ordered_json;

Json score_json(const TuneReport::Score& score) {
  return {{"error", json_number<Json>(score.error)},
          {"deviation", json_number<Json>(score.deviation)},
          {"metric", score.metric ? Json(*score.metric) : Json()},
          {"samples", score.samples},
          {"beyond", score.beyond},
          {"holds", score.holds}};
}

Json point_json(const TuneReport::Point& point) {
  const auto& held_out = point.held_out;
  Json json = {{"plan", point.plan},
               {"types", point.types},
               {"latency_ms", point.latency_ms},
               {"error", json_number<Json>(std::max(point.selection.error, held_out.error))},
               {"metric", held_out.metric ? Json(*held_out.metric) : Json()},
               {"ratio", point.ratio},
               {"ratio_ci95", {point.low, point.high}},
               {"holds", point.selection.holds && held_out.holds},
               {"selection", score_json(point.selection)},
               {"held_out", score_json(held_out)}};
  if (!point.failure.empty()) json["failure"] = point.failure;
  return json;
}

Json points_json(const std::vector<TuneReport::Point>& points) {
  Json json = Json::array();
  for (const auto& point : points) json.push_back(point_json(point));
  return json;
}

Json confirmation_json(const TuneReport::Confirmation& confirmed) {
  Json json = score_json(confirmed.held_out);
  json["confidence"] = 0.95;
  if (confirmed.held_out.metric)
    json["loss_ci95"] =
        confirmed.loss_ci95 ? Json{confirmed.loss_ci95->first, confirmed.loss_ci95->second} : Json();
  else
    json["share_beyond_at_most"] = confirmed.share_beyond_at_most;
  return json;
}

}  // namespace

std::string tune_json(const TuneReport& report) {
  Json root = {{"schema", "vernier-tune"},
               {"version", 1},
               {"model", report.model},
               {"options", report.options},
               {"environment", report.environment},
               {"target", {{"text", report.target}, {"unit", report.unit}, {"limit", report.limit}}}};
  root["verdict"] = report.chosen ? "pass" : "fail";
  root["front"] = points_json(report.front);
  root["dominated"] = points_json(report.dominated);
  root["baseline"] = point_json(report.baseline);
  root["chosen"] = report.chosen ? point_json(*report.chosen) : Json();
  root["closest"] = report.closest ? point_json(*report.closest) : Json();
  root["confirmed"] = report.confirmed ? confirmation_json(*report.confirmed) : Json();
  root["sensitivities"] = Json::array();
  for (const auto& each : report.sensitivities)
    root["sensitivities"].push_back({{"nodes", each.nodes},
                                     {"type", each.type},
                                     {"gain_ms", each.gain_ms},
                                     {"error", json_number<Json>(each.error)}});
  root["notes"] = report.notes;
  root["units"] = report.units;
  root["probes"] = report.probes;
  root["remembered"] = report.remembered;
  root["finished"] = report.finished;
  root["interrupted"] = report.interrupted;
  root["seconds"] = report.seconds;
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
