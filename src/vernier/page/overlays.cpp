#include "vernier/page/overlays.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace vernier {

namespace {

using Json = nlohmann::json;

// Cividis, which people see alike whether or not they tell red from green.
constexpr const char* kRamp[] = {"#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"};

// A threshold for each part of the range from the least to the largest value, even in their logarithms.
Json thresholds(double least, double largest) {
  Json json = Json::array();
  constexpr size_t kColours = std::size(kRamp);
  const double share = 1.0 / static_cast<double>(kColours);
  for (size_t i = 0; i < kColours; ++i) {
    const double bound =
        i + 1 == kColours ? largest : least * std::pow(largest / least, static_cast<double>(i + 1) * share);
    json.push_back({{"value", bound}, {"bgColor", kRamp[i]}, {"labelColor", i < 3 ? "#ffffff" : "#000000"}});
  }
  return json;
}

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string overlay_text(const std::map<std::string, double>& figures, const std::string& graph) {
  Json results = Json::object();
  double least = INFINITY, largest = 0;
  for (const auto& [name, value] : figures) {
    results[name] = {{"value", value}};
    if (value > 0) least = std::min(least, value);
    largest = std::max(largest, value);
  }
  Json json = {{graph, {{"results", results}}}};
  if (largest > 0) json[graph]["thresholds"] = thresholds(least, largest);
  return dump(json);
}

}  // namespace

std::string node_data_json(const Report& report, const std::string& graph) {
  std::map<std::string, double> errors;
  for (const ComparisonResult& comparison : report.comparisons) {
    for (const TensorComparison& tensor : comparison.tensors) {
      if (!tensor.metrics.distances || !std::isfinite(tensor.metrics.distances->relative_l2)) continue;
      double& error = errors[tensor.value];
      error = std::max(error, tensor.metrics.distances->relative_l2);
    }
  }
  return overlay_text(errors, graph);
}

std::string node_data_json(const BenchReport& report, const std::string& graph) {
  std::map<std::string, double> times;
  for (const auto& step : report.steps) {
    for (const std::string& node : step.nodes)
      times[node] += step.milliseconds / static_cast<double>(step.nodes.size());
  }
  return overlay_text(times, graph);
}

std::string chrome_trace_json(const BenchReport& report) {
  constexpr double kMicroseconds = 1e3;  // of a millisecond
  Json events = Json::array();
  double begin = 0;
  for (const auto& step : report.steps) {
    const std::string kernel = step.kernel.empty() ? "reference" : step.kernel;
    Json event = {{"name", step.nodes.empty() ? kernel : fmt::format("{}", fmt::join(step.nodes, " + "))},
                  {"cat", kernel},
                  {"ph", "X"},
                  {"ts", begin},
                  {"dur", step.milliseconds * kMicroseconds},
                  {"pid", 1},
                  {"tid", 1},
                  {"args", {{"kernel", kernel}, {"nodes", step.nodes}}}};
    if (step.roofline) {
      event["args"]["flops"] = step.roofline->flops;
      event["args"]["bytes"] = step.roofline->bytes;
      event["args"]["limit"] = step.roofline->limit;
    }
    events.push_back(std::move(event));
    begin += step.milliseconds * kMicroseconds;
  }
  return dump({{"traceEvents", events},
               {"displayTimeUnit", "ms"},
               {"otherData",
                {{"model", report.model},
                 {"device", report.device},
                 {"runs", std::to_string(report.profile_runs)},
                 {"times", "medians over the runs, one step after the other"}}}});
}

}  // namespace vernier
