#include "vernier/report/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::vector<std::string> latency_cells(const std::string& name, const BenchReport::Latency& latency) {
  return {printable(name, 40), number(latency.p50), number(latency.p90),
          number(latency.p95), number(latency.p99), number(latency.mean),
          number(latency.min), number(latency.max), std::to_string(latency.runs)};
}

// "f32 158, bf16 1240 GFLOP/s; copies 41.2 GB/s up to 128 KiB, …"
std::string peak_text(const BenchReport::Peak& peak) {
  std::vector<std::string> types, speeds;
  for (const auto& [type, flops] : peak.flops_per_s)
    types.push_back(fmt::format("{} {:.4g}", type, flops * 1e-9));
  for (const auto& [bytes, speed] : peak.bytes_per_s)
    speeds.push_back(fmt::format("{:.3g} up to {:.4g} KiB", speed * 1e-9, bytes / 1024));
  return fmt::format("{} GFLOP/s; copies, GB/s: {}", fmt::join(types, ", "), fmt::join(speeds, ", "));
}

std::string decoding_text(const BenchReport::Decoding& decoding) {
  std::string text = fmt::format("decoding {} tokens behind a prompt of {}; {} of {} caches grow in place\n",
                                 decoding.tokens, decoding.prompt, decoding.appended, decoding.caches);
  TextTable table({"token, ms", "p50", "p90", "p95", "p99", "mean", "min", "max", "runs"}, 1);
  for (const auto& [name, pass] :
       {std::pair("first time", &decoding.first), std::pair("again", &decoding.again)})
    table.add(latency_cells(name, pass->token));
  text += table.text(2);
  return text +
         fmt::format("tokens a second: {:.4g} the first time, {:.4g} again; prompt {:.4g} ms and {:.4g} ms\n",
                     decoding.first.tokens_per_s, decoding.again.tokens_per_s, decoding.first.prompt_ms,
                     decoding.again.prompt_ms);
}

std::vector<std::string> step_cells(const BenchReport::Step& step, double sum) {
  return {printable(step.kernel, 44),
          printable(fmt::format("{}", fmt::join(step.nodes, ", ")), 60),
          fmt::format("{:.4f}", step.milliseconds),
          fmt::format("{:.1f} %", 100 * step.milliseconds / sum),
          step.roofline ? fmt::format("{:.0f} %", 100 * step.roofline->floor_ms / step.milliseconds) : "-",
          step.roofline ? step.roofline->limit : "-"};
}

std::vector<size_t> longest_first(const std::vector<BenchReport::Step>& steps) {
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return steps[a].milliseconds > steps[b].milliseconds; });
  return order;
}

// Lists the steps in the regions of control flow, of each node that has some.
std::string inside_text(const BenchReport::Step& step, size_t max_steps) {
  if (step.inside.empty()) return "";
  TextTable table({"kernel", "nodes", "ms", "share"}, 2);
  const auto order = longest_first(step.inside);
  for (size_t i = 0; i < std::min(max_steps, order.size()); ++i) {
    auto cells = step_cells(step.inside[order[i]], step.milliseconds);
    cells.resize(4);
    table.add(std::move(cells));
  }
  std::string text =
      fmt::format("\ninside of '{}', in all trips of a run\n{}",
                  printable(fmt::format("{}", fmt::join(step.nodes, ", ")), 60), table.text(2));
  if (order.size() > max_steps)
    text += fmt::format("  … and {} more (-v shows all)\n", order.size() - max_steps);
  return text;
}

std::string steps_text(const BenchReport& report, size_t max_steps) {
  const auto order = longest_first(report.steps);
  double sum = 0, fallback = 0, floor = 0;
  for (const auto& step : report.steps) {
    sum += step.milliseconds;
    fallback += step.fallback_ms;
    floor += step.roofline ? step.roofline->floor_ms : 0;
  }
  TextTable table({"kernel", "nodes", "ms", "share", "of roofline", "limit"}, 2);
  for (size_t i = 0; i < std::min(max_steps, order.size()); ++i)
    table.add(step_cells(report.steps[order[i]], sum));
  std::string text = "\nsteps, the longest first\n" + table.text(2);
  if (order.size() > max_steps)
    text += fmt::format("  … and {} more (-v shows all)\n", order.size() - max_steps);
  text += fmt::format(
      "  {} steps take {:.4g} ms in all; a run takes {:.4g} ms with the clock read at each, {:.4g} without\n",
      order.size(), sum, report.watched_ms, report.unwatched_ms);
  if (floor > 0)
    text += fmt::format("  at the peak of this machine they would take {:.4g} ms, {:.0f} % of that ({})\n",
                        floor, 100 * floor / sum, peak_text(report.peak));
  if (fallback > 0)
    text += fmt::format("  {:.4g} ms of it are computed by the reference, without a kernel\n", fallback);
  for (const auto& step : report.steps) text += inside_text(step, max_steps);
  return text;
}

}  // namespace

std::string bench_text(const BenchReport& report, size_t max_steps) {
  std::string text;
  for (const auto& [title, map] :
       {std::pair("options", &report.options), std::pair("environment", &report.environment)}) {
    text += fmt::format("{}\n", title);
    for (const auto& [key, value] : *map) text += fmt::format("  {}: {}\n", key, printable(value, 100));
  }
  text += fmt::format("\n{}, {}\n", printable(report.model, 100), printable(report.sample, 100));
  TextTable table({"latency, ms", "p50", "p90", "p95", "p99", "mean", "min", "max", "runs"}, 1);
  table.add(latency_cells(report.device, report.latency));
  for (const auto& other : report.versus) {
    if (other.failure.empty()) table.add(latency_cells(other.runner, other.latency));
  }
  text += table.text(2);
  for (const auto& other : report.versus) {
    if (!other.failure.empty()) {
      text += fmt::format("{}: {}\n", printable(other.runner, 60), printable(other.failure, 400));
      continue;
    }
    text +=
        fmt::format("{} is {:.3f} times as fast as {} (95 % of the medians lie between {:.3f} and {:.3f})\n",
                    report.device, other.ratio, printable(other.runner, 60), other.low, other.high);
  }
  text += fmt::format("throughput: {:.4g} a second with {} session{}\n", report.throughput_per_s,
                      report.sessions, report.sessions == 1 ? "" : "s");
  if (report.decoding) text += decoding_text(*report.decoding);
  text += report.load_ms ? fmt::format("load: {:.3g} ms; ", *report.load_ms)
                         : fmt::format("build: {:.3g} s; ", report.build_s);
  text += fmt::format(
      "first run {:.3g} ms; memory: weights {:.1f} MB, arena {:.1f} MB, peak of the process {:.1f} MB\n",
      report.first_run_ms, static_cast<double>(report.memory.weights) * 1e-6,
      static_cast<double>(report.memory.arena) * 1e-6, static_cast<double>(report.memory.peak_rss) * 1e-6);
  text += fallback_text(report.fallback, 0);
  if (!report.steps.empty()) text += steps_text(report, max_steps);
  return text;
}

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
    for (const auto& step : report.steps) {
      steps.push_back({{"kernel", step.kernel},
                       {"nodes", step.nodes},
                       {"ms", step.milliseconds},
                       {"fallback_ms", step.fallback_ms},
                       {"roofline", roofline_json(step)}});
      for (const auto& each : step.inside)
        steps.back()["inside"].push_back(
            {{"kernel", each.kernel}, {"nodes", each.nodes}, {"ms", each.milliseconds}});
    }
    root["profile"] = {{"steps", steps},
                       {"watched_ms", report.watched_ms},
                       {"unwatched_ms", report.unwatched_ms},
                       {"peak", peak_json(report.peak)}};
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string fallback_text(const FallbackShare& fallback, size_t indent) {
  if (fallback.steps == 0)
    return fmt::format("{:{}}fallbacks: none, every step runs by a kernel\n", "", indent);
  std::string text =
      fmt::format("{:{}}fallbacks: {} steps that the reference computes take {:.1f} % of the time\n", "",
                  indent, fallback.steps, 100 * fallback.share);
  if (fallback.share > kMostFallback)
    text += fmt::format(
        "{:{}}warning: more than {:.0f} % of the time goes to fallbacks; the list of steps without a kernel "
        "says why\n",
        "", indent, 100 * kMostFallback);
  return text;
}

}  // namespace vernier
