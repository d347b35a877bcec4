#include "vernier/search/plugin_metric.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::duration<double> kPatience{60};
constexpr size_t kLongestLine = size_t{1} << 20;

std::string command_of(const MetricOptions& options) {
  return fmt::format("exec {} {} {} {}", quoted_for_shell(find_python("")),
                     quoted_for_shell(find_runner_script("metric_plugin.py").string()),
                     quoted_for_shell(options.name), quoted_for_shell(options.labels.string()));
}

}  // namespace

PluginMetric::PluginMetric(const MetricOptions& options) : options_(options) {
  if (!options.labels.empty()) {
    try {
      const Tensor labels = read_npy_file(options.labels);
      if (labels.rank() == 0)
        throw bad_input("labels need a row for each row of the data, and this is one number");
      labels_ = static_cast<size_t>(labels.dims().front());
    } catch (Error& error) {
      throw error.in_file(options.labels);
    }
  }
  process_ = std::make_unique<ChildProcess>(command_of(options));
  ask(R"({"hello": true})");
}

size_t PluginMetric::rows(const NamedData& outputs) const {
  const Tensor& tensor = outputs.at(options_.output).as_tensor();
  return tensor.rank() == 0 ? 1 : static_cast<size_t>(tensor.dims().front());
}

MetricValue PluginMetric::value(const MetricOutputs& outputs, const MetricOutputs& /*reference*/) {
  Json files = Json::array(), labels = Json::array();
  for (size_t i = 0; i < outputs.samples.size(); ++i) {
    const auto file = folder_.path() / fmt::format("{}.safetensors", i);
    write_safetensors(file, *outputs.samples[i]);
    files.push_back(file.string());
    labels.push_back({outputs.first_labels[i], outputs.first_labels[i] + rows(*outputs.samples[i])});
  }
  const std::string answer = ask(Json{{"outputs", files}, {"labels", labels}}.dump());
  const double value = JsonValue::parse(answer).at("value").real();
  return {100 * value, {}};
}

// Gives the answer, which is no error.
std::string PluginMetric::ask(const std::string& request) {
  using Outcome = ChildProcess::Reply::Outcome;
  const auto reply = process_->exchange(request, kPatience, kLongestLine);
  if (reply.outcome != Outcome::kLine) {
    const std::string ending = reply.outcome == Outcome::kTimeout
                                   ? fmt::format("takes more than {} s", kPatience.count())
                                   : process_->stop();
    throw bad_input("the metric {}: {}", ending, process_->last_words())
        .in_file(options_.name)
        .advise("write def metric(outputs, labels): … that returns a number and prints nothing");
  }
  const JsonValue answer = JsonValue::parse(reply.line);
  if (const JsonValue* error = answer.find("error"))
    throw bad_input("{}", error->string())
        .in_file(options_.name)
        .advise("write def metric(outputs, labels): … that returns a number; see docs/tuning.md");
  return reply.line;
}

}  // namespace vernier
