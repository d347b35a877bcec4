#include "vernier/report/trtexec_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "vernier/base/error.h"
#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

// As a C++ stream prints it, which trtexec does.
std::string milliseconds(double value) {
  return fmt::format("{:.6g} ms", value);
}

double percentile_of(const std::vector<double>& ascending, double percentile) {
  const double count = static_cast<double>(ascending.size());
  const auto excluded = static_cast<size_t>((1 - percentile / 100) * count);
  return ascending[excluded < ascending.size() ? ascending.size() - 1 - excluded : 0];
}

std::string statistics(std::vector<double> values, const std::vector<double>& percentiles) {
  std::sort(values.begin(), values.end());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  std::string text = fmt::format("min = {}, max = {}, mean = {}, median = {}", milliseconds(values.front()),
                                 milliseconds(values.back()), milliseconds(mean), milliseconds(median));
  for (const double percentile : percentiles)
    text += fmt::format(", percentile({:.6g}%) = {}", percentile,
                        milliseconds(percentile_of(values, percentile)));
  return text;
}

double coefficient_of_variation(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / count) / mean : 0;
}

void add_averages(std::vector<std::string>& lines, const std::vector<double>& times, size_t runs) {
  lines.push_back("=== Trace details ===");
  lines.push_back(fmt::format("Trace averages of {} runs:", runs));
  for (size_t begin = 0; begin + runs <= times.size(); begin += runs) {
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(begin);
    const double mean =
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(runs), 0.0) / static_cast<double>(runs);
    lines.push_back(fmt::format("Average on {} runs - GPU latency: {} - Host latency: {} (enqueue {})", runs,
                                milliseconds(mean), milliseconds(mean), milliseconds(mean)));
  }
}

double total_of(const std::vector<BenchReport::Step>& steps) {
  double total = 0;
  for (const BenchReport::Step& step : steps) total += step.milliseconds;
  return total;
}

std::string separated_dims(const Dims& dims) {
  return fmt::format("{}", fmt::join(dims, "x"));
}

}  // namespace

std::string trtexec_line(char severity, const std::string& text) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("[{:%m/%d/%Y-%H:%M:%S}] [{}] {}\n", fmt::localtime(now), severity, text);
}

std::vector<std::string> trtexec_summary(const std::vector<double>& seconds, double throughput_per_s,
                                         const std::vector<double>& percentiles, size_t average_runs) {
  std::vector<double> times = seconds;
  for (double& time : times) time *= 1e3;
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Timing trace has {} queries over {:.6g} s", seconds.size(), total));
  lines.emplace_back();
  if (average_runs > 0) add_averages(lines, times, average_runs);
  const std::string all = statistics(times, percentiles), none = statistics({0}, percentiles);
  lines.insert(lines.end(),
               {"=== Performance summary ===", fmt::format("Throughput: {:.6g} qps", throughput_per_s),
                "Latency: " + all, "Enqueue Time: " + all, "H2D Latency: " + none, "GPU Compute Time: " + all,
                "D2H Latency: " + none, fmt::format("Total Host Walltime: {:.6g} s", total),
                fmt::format("Total GPU Compute Time: {:.6g} s", total),
                "GPU Compute Time is the time of the engine on the CPU, which nothing is transferred to."});
  constexpr double kUnstable = 0.025;  // above which trtexec warns
  if (const double variation = coefficient_of_variation(times); variation > kUnstable)
    lines.push_back(
        fmt::format("The time is unstable, with a coefficient of variation of {:.3g} %: "
                    "compare medians, or use `vernier bench --vs`.",
                    100 * variation));
  return lines;
}

std::vector<std::string> trtexec_profile(const std::vector<BenchReport::Step>& steps, size_t runs) {
  const double total = total_of(steps), count = static_cast<double>(runs);
  std::vector<std::string> lines = {fmt::format("=== Profile ({} iterations ) ===", runs),
                                    "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer"};
  const auto row = [&](double time, const std::string& name) {
    lines.push_back(fmt::format("{:11.2f} {:12.4f} {:12.4f} {:9.1f}   {}", time * count, time, time,
                                total > 0 ? 100 * time / total : 0, name));
  };
  for (const BenchReport::Step& step : steps)
    row(step.milliseconds, printable(trtexec_layer_name(step), 200));
  row(total, "Total");
  return lines;
}

std::vector<std::string> trtexec_layers(const std::vector<BenchReport::Step>& steps) {
  std::vector<std::string> lines = {"Layers:"};
  for (const BenchReport::Step& step : steps)
    lines.push_back(printable(trtexec_layer_name(step) + " (" + step.kernel + ")", 200));
  return lines;
}

std::vector<std::string> trtexec_outputs(const Trace& trace) {
  std::vector<std::string> lines = {"Output Tensors:"};
  for (const TraceEntry& entry : trace.entries) {
    if (!entry.is_output) continue;
    const Tensor& tensor = trtexec_output(entry);
    lines.push_back(fmt::format("{}: ({})", printable(entry.value, 80), separated_dims(tensor.dims())));
    lines.push_back(fmt::format("{:.6g}", fmt::join(tensor.to_doubles(), " ")));
  }
  return lines;
}

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
