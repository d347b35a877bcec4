#include "vernier/cli/target_findings.h"

#include <optional>
#include <regex>

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/check/tensorrt.h"

namespace vernier {

namespace {

// The operator and the node that ONNX Runtime says it has no kernel for, as it writes them: "Conv(22)",
// "conv1".
std::optional<std::pair<std::string, std::string>> without_kernel(const std::string& message) {
  static const std::regex words("implementation for (\\S+) node with name '([^']*)'");
  std::smatch found;
  if (!lacks_kernel(message) || !std::regex_search(message, found, words)) return std::nullopt;
  return std::pair(found[1].str(), found[2].str());
}

std::vector<Finding> onnxruntime_findings(const std::filesystem::path& file, const Model& model) {
  const ProcessOptions options = onnxruntime_process({});
  Finding finding{.rule = "ORT2-not-loaded",
                  .severity = Severity::kError,
                  .effect = 1,
                  .node = "",
                  .message = "",
                  .remedy = "mend what ONNX Runtime complains of"};
  try {
    const ProcessRunner loaded({file, &model}, options);
    return {};
  } catch (const Error& error) {
    finding.message = error.message();
  }
  if (const auto lacking = without_kernel(finding.message)) {
    finding.rule = "ORT1-no-kernel";
    finding.node = lacking->second;
    finding.message = fmt::format(
        "ONNX Runtime has no kernel for {} in the types of this node, the first of such", lacking->first);
    finding.remedy = "keep the operator in float (--layer-precisions), or run the file elsewhere";
  }
  return {finding};
}

}  // namespace

std::vector<Finding> target_findings(const std::string& target, const std::filesystem::path& file,
                                     const Model& model) {
  if (target == kTensorrtTarget) return check_for_tensorrt(model);
  return target == kOnnxruntimeTarget ? onnxruntime_findings(file, model) : std::vector<Finding>();
}

bool lacks_kernel(const std::string& message) {
  return message.find("NOT_IMPLEMENTED") != std::string::npos;
}

std::vector<Finding> findings_of_tensorrt(const std::filesystem::path& file,
                                          const TensorRtQuestion& question) {
  const TensorRtAnswer answer = ask_tensorrt(file, question);
  if (answer.complaints.empty())
    return {{.rule = "TRT0-taken",
             .severity = Severity::kNote,
             .effect = 0,
             .node = "",
             .message = fmt::format("parser and builder of {} take the file", answer.engine),
             .remedy = "nothing is to be done"}};
  std::vector<Finding> findings;
  for (const auto& [stage, node, message] : answer.complaints)
    findings.push_back({.rule = "TRT0-refused",
                        .severity = Severity::kError,
                        .effect = 1,
                        .node = node,
                        .message = fmt::format("the {} of {} says: {}", stage, answer.engine, message),
                        .remedy = "`vernier export MODEL --for tensorrt` rewrites what it can"});
  return findings;
}

}  // namespace vernier
