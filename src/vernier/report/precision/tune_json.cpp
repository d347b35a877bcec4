#include <algorithm>

#include "vernier/report/json_number.h"
#include "vernier/report/precision/tune_report.h"

namespace vernier {

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
