// Finds what another runtime would make of a model.
#pragma once

#include <filesystem>

#include "vernier/backends/process/tensorrt.h"
#include "vernier/check/check.h"

namespace vernier {

inline constexpr const char* kTensorrtTarget = "tensorrt";
inline constexpr const char* kOnnxruntimeTarget = "onnxruntime";

// For TensorRT, its rules (check/tensorrt.h). ONNX Runtime itself loads the file in a child process, and
// names the first operator that it has no kernel for; throws unsupported where it is not installed.
std::vector<Finding> target_findings(const std::string& target, const std::filesystem::path& file,
                                     const Model& model);

// Whether ONNX Runtime says so of an operator that it has no kernel for.
bool lacks_kernel(const std::string& message);

// Gives what TensorRT's own parser and builder say of the file: "TRT0-refused", errors with its words, or a
// note that they take it. Throws what ask_tensorrt throws.
std::vector<Finding> findings_of_tensorrt(const std::filesystem::path& file,
                                          const TensorRtQuestion& question);

}  // namespace vernier
