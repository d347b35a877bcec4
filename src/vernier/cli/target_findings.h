// What another runtime would make of a model.
#pragma once

#include <filesystem>

#include "vernier/check/check.h"

namespace vernier {

inline constexpr const char* kTensorrtTarget = "tensorrt";
inline constexpr const char* kOnnxruntimeTarget = "onnxruntime";

// For TensorRT, its rules (check/tensorrt.h). ONNX Runtime itself loads the file in a child process, and
// names the first operator that it has no kernel for; throws unsupported where it is not installed.
std::vector<Finding> target_findings(const std::string& target, const std::filesystem::path& file,
                                     const Model& model);

}  // namespace vernier
