#include "vernier/cli/options/process_options.h"

#include <algorithm>

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/backends/process/tensorrt.h"

namespace vernier {

namespace {

double seconds(const RunnerSpec& spec) {
  const auto found = spec.options.find("timeout");
  if (found == spec.options.end()) return 600;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (end == found->second.c_str() || *end != '\0' || !(value > 0))
    throw usage_error("--timeout '{}' is not a number of seconds", found->second);
  return value;
}

std::map<std::string, std::string> options_of_runner(const std::string& text) {
  std::map<std::string, std::string> options;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size()), equals = text.find('=', begin);
    if (equals >= end) throw usage_error("--runner-option '{}' is not KEY=VALUE", text);
    options[text.substr(begin, equals - begin)] = text.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
  return options;
}

ProcessOptions tensorrt_options(const RunnerSpec& spec) {
  constexpr std::string_view kOfBuild[] = {
      "fp16", "bf16", "int8", "no-tf32", "layer-precisions", "precision-constraints", "calibration", "best"};
  allow_options(spec, {"timeout", "runner-option", "fp16", "bf16", "int8", "no-tf32", "layer-precisions",
                       "precision-constraints", "calibration", "best"});
  TensorRtOptions tensorrt;
  tensorrt.python = spec.argument;
  if (spec.options.contains("runner-option"))
    tensorrt.build = options_of_runner(spec.options.at("runner-option"));
  for (const std::string_view name : kOfBuild) {
    const auto found = spec.options.find(std::string(name));
    if (found == spec.options.end()) continue;
    std::string key(name);
    std::replace(key.begin(), key.end(), '-', '_');
    tensorrt.build[key] = found->second.empty() ? "1" : found->second;
  }
  return tensorrt_process(tensorrt);
}

}  // namespace

void allow_options(const RunnerSpec& spec, std::initializer_list<std::string_view> allowed) {
  for (const auto& [name, value] : spec.options) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
    throw usage_error("--{} does not apply to --{}", name, spec.kind)
        .advise("runner options belong to the runner before them");
  }
}

std::optional<ProcessOptions> process_options(const RunnerSpec& spec, int threads) {
  ProcessOptions options;
  if (spec.kind == "onnxruntime") {
    allow_options(spec, {"optimization", "timeout", "runner-option"});
    OnnxRuntimeOptions runtime;
    if (!spec.argument.empty()) runtime.provider = spec.argument;
    if (spec.options.contains("optimization")) runtime.optimisation = spec.options.at("optimization");
    if (spec.options.contains("runner-option"))
      runtime.session = options_of_runner(spec.options.at("runner-option"));
    runtime.threads = threads;
    options = onnxruntime_process(runtime);
  } else if (spec.kind == "tensorrt") {
    options = tensorrt_options(spec);
    options.threads = threads;
  } else if (spec.kind == "runner") {
    allow_options(spec, {"timeout", "runner-option"});
    options = parse_runner_option(spec.argument);
    options.threads = threads;
    if (spec.options.contains("runner-option"))
      options.options = options_of_runner(spec.options.at("runner-option"));
  } else {
    return std::nullopt;
  }
  options.load_timeout = options.run_timeout = seconds(spec);
  return options;
}

}  // namespace vernier
