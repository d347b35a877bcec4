#include "vernier/backends/process/tensorrt.h"

#include <nlohmann/json.hpp>

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/backends/process/runner_connection.h"

namespace vernier {

ProcessOptions tensorrt_process(const TensorRtOptions& options) {
  ProcessOptions process;
  process.name = "tensorrt";
  process.command = fmt::format("exec {} {}", quoted_for_shell(find_python(options.python)),
                                quoted_for_shell(find_runner_script("tensorrt_runner.py").string()));
  process.options = options.build;
  return process;
}

using nlohmann::json;

namespace {

constexpr int64_t kMostValues = 64;  // inputs that decide sizes have few elements

std::string sample_text(const NamedData& inputs) {
  json sample = json::object();
  for (const auto& [name, datum] : inputs) {
    if (!datum.is_tensor()) continue;
    const Tensor& tensor = datum.as_tensor();
    json& entry = sample[name];
    entry["dims"] = tensor.dims();
    if (is_integer(tensor.type()) && tensor.size() <= kMostValues) entry["values"] = tensor.to_ints();
  }
  return sample.dump();
}

}  // namespace

TensorRtAnswer ask_tensorrt(const std::filesystem::path& model, const TensorRtQuestion& question) {
  RunnerConnection connection(
      "tensorrt", fmt::format("exec {} {}", quoted_for_shell(find_python(question.python)),
                              quoted_for_shell(find_runner_script("tensorrt_check.py").string())));
  const HelloAnswer hello = connection.hello(question.timeout);
  LoadRequest request{model, question.options, 0};
  request.options["sample"] = sample_text(question.inputs);
  TensorRtAnswer answer{hello.engine + " " + hello.version, {}};
  try {
    const LoadAnswer loaded = connection.load(request, question.timeout);
    const auto found = loaded.description.find("findings");
    const json findings = json::parse(found == loaded.description.end() ? "[]" : found->second);
    for (const json& each : findings)
      answer.complaints.push_back(
          {each.value("stage", ""), each.value("node", ""), each.value("message", "")});
  } catch (const Error& error) {
    if (connection.is_usable()) throw;
    answer.complaints.push_back({"process", "", error.message()});
  } catch (const json::exception& error) {
    throw bad_input("the answer of tensorrt_check.py is not understood: {}", error.what());
  }
  return answer;
}

}  // namespace vernier
