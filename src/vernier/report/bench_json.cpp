#include "vernier/report/bench_report.h"
#include "vernier/report/json_number.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const BenchReport::Latency& latency) {
  return {{"p50", latency.p50},   {"p90", latency.p90}, {"p95", latency.p95}, {"p99", latency.p99},
          {"mean", latency.mean}, {"min", latency.min}, {"max", latency.max}, {"runs", latency.runs}};
}

Json roofline_json(const BenchReport::Step& step) {
  if (!step.roofline) return Json();
  const auto& roofline = *step.roofline;
  return {{"flops", roofline.flops},
          {"bytes", roofline.bytes},
          {"floor_ms", roofline.floor_ms},
          {"share", json_number(roofline.floor_ms / step.milliseconds)},
          {"limit", roofline.limit}};
}

Json decoding_json(const BenchReport::Decoding& decoding) {
  const auto pass = [](const BenchReport::DecodingPass& measured) {
    return Json{{"prompt_ms", measured.prompt_ms},
                {"tokens_per_s", measured.tokens_per_s},
                {"token_ms", latency_json(measured.token)}};
  };
  return {{"prompt", decoding.prompt},     {"tokens", decoding.tokens},     {"caches", decoding.caches},
          {"appended", decoding.appended}, {"first", pass(decoding.first)}, {"again", pass(decoding.again)}};
}

Json peak_json(const BenchReport::Peak& peak) {
  Json bandwidths = Json::array();
  for (const auto& [bytes, speed] : peak.bytes_per_s)
    bandwidths.push_back({{"bytes", bytes}, {"bytes_per_s", speed}});
  return {{"flops_per_s", peak.flops_per_s}, {"bandwidth", bandwidths}};
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  Json root = {{"schema", "vernier-bench"},
               {"version", 1},
               {"model", report.model},
               {"sample", report.sample},
               {"device", report.device},
               {"options", report.options},
               {"environment", report.environment}};
  root["latency_ms"] = latency_json(report.latency);
  root["throughput_per_s"] = report.throughput_per_s;
  root["sessions"] = report.sessions;
  root["build_s"] = report.build_s;
  root["load_ms"] = report.load_ms ? Json(*report.load_ms) : Json();
  root["first_run_ms"] = report.first_run_ms;
  root["memory"] = {{"weights", report.memory.weights},
                    {"arena", report.memory.arena},
                    {"peak_rss", report.memory.peak_rss}};
  root["fallback"] = {{"steps", report.fallback.steps}, {"share", report.fallback.share}};
  root["versus"] = Json::array();
  for (const auto& other : report.versus) {
    if (!other.failure.empty()) {
      root["versus"].push_back({{"runner", other.runner}, {"failure", other.failure}});
      continue;
    }
    root["versus"].push_back({{"runner", other.runner},
                              {"ratio", other.ratio},
                              {"ci95", {other.low, other.high}},
                              {"latency_ms", latency_json(other.latency)}});
  }
  if (report.decoding) root["decode"] = decoding_json(*report.decoding);
  if (!report.steps.empty()) {
    Json steps = Json::array();
    for (const auto& step : report.steps)
      steps.push_back({{"kernel", step.kernel},
                       {"nodes", step.nodes},
                       {"ms", step.milliseconds},
                       {"fallback_ms", step.fallback_ms},
                       {"roofline", roofline_json(step)}});
    root["profile"] = {{"steps", steps},
                       {"watched_ms", report.watched_ms},
                       {"unwatched_ms", report.unwatched_ms},
                       {"peak", peak_json(report.peak)}};
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
