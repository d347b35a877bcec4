#include <fmt/ranges.h>

#include "vernier/base/error.h"
#include "vernier/report/json_number.h"
#include "vernier/report/trtexec_report.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string trtexec_layer_name(const BenchReport::Step& step) {
  return step.nodes.empty() ? step.kernel : fmt::format("{}", fmt::join(step.nodes, " + "));
}

const Tensor& trtexec_output(const TraceEntry& entry) {
  if (!entry.datum.is_tensor() || entry.datum.tensor.type() == ElementType::kString ||
      is_complex(entry.datum.tensor.type()))
    throw unsupported("the output '{}' is no tensor of numbers, and trtexec's files hold no other",
                      entry.value)
        .advise("record it with `vernier run MODEL --cpu --save-run FILE`");
  return entry.datum.tensor;
}

std::string trtexec_times_json(const std::vector<double>& seconds) {
  Json runs = Json::array();
  double start = 0;
  for (const double each : seconds) {
    const double time = each * 1e3, end = start + time;
    runs.push_back({{"startEnqMs", start},
                    {"endEnqMs", end},
                    {"startH2dMs", start},
                    {"endH2dMs", start},
                    {"startComputeMs", start},
                    {"endComputeMs", end},
                    {"startD2hMs", end},
                    {"endD2hMs", end},
                    {"h2dMs", 0.0},
                    {"computeMs", time},
                    {"d2hMs", 0.0},
                    {"latencyMs", time}});
    start = end;
  }
  return text_of(runs);
}

std::string trtexec_profile_json(const std::vector<BenchReport::Step>& steps, size_t runs) {
  double total = 0;
  for (const BenchReport::Step& step : steps) total += step.milliseconds;
  Json layers = Json::array({{{"count", runs}}});
  for (const BenchReport::Step& step : steps)
    layers.push_back({{"name", trtexec_layer_name(step)},
                      {"timeMs", step.milliseconds * static_cast<double>(runs)},
                      {"averageMs", step.milliseconds},
                      {"medianMs", step.milliseconds},
                      {"percentage", total > 0 ? 100 * step.milliseconds / total : 0}});
  return text_of(layers);
}

std::string trtexec_layers_json(const std::vector<BenchReport::Step>& steps,
                                const std::vector<std::string>& bindings, bool detailed) {
  Json layers = Json::array();
  for (const BenchReport::Step& step : steps) {
    if (!detailed) {
      layers.push_back(trtexec_layer_name(step));
      continue;
    }
    std::string metadata;
    for (const std::string& node : step.nodes)
      metadata += (metadata.empty() ? "[ONNX Layer: " : "\x1e[ONNX Layer: ") + node + "]";
    layers.push_back(
        {{"Name", trtexec_layer_name(step)}, {"TacticName", step.kernel}, {"Metadata", metadata}});
  }
  return text_of({{"Layers", layers}, {"Bindings", bindings}});
}

std::string trtexec_outputs_json(const Trace& trace) {
  Json outputs = Json::array();
  for (const TraceEntry& entry : trace.entries) {
    if (!entry.is_output) continue;
    const Tensor& tensor = trtexec_output(entry);
    Json values = Json::array();
    if (is_float(tensor.type())) {
      for (const double value : tensor.to_doubles()) values.push_back(json_number<Json>(value));
    } else {
      for (const int64_t value : tensor.to_ints()) values.push_back(value);
    }
    outputs.push_back({{"name", entry.value},
                       {"dimensions", fmt::format("{}", fmt::join(tensor.dims(), "x"))},
                       {"values", std::move(values)}});
  }
  return text_of(outputs);
}

}  // namespace vernier
