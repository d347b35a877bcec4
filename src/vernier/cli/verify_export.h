// Whether a file that was written computes, where it is meant to run, what it says.
#pragma once

#include <filesystem>

#include "vernier/check/check.h"
#include "vernier/cli/options/data_options.h"

namespace vernier {

struct VerifyOptions {
  std::string target;  // kTensorrtTarget, kOnnxruntimeTarget or empty
  DataOptions data;    // random inputs where it has none; `samples` of them at most
  uint64_t seed = 1;
  int threads = 0;
  bool rewritten = false;  // what the model quantized itself was rewritten: then its price is to be told
};

struct Verification {
  std::vector<std::string> notes;  // what was run, and how near it came; or why nothing was
  std::vector<Finding> findings;   // "ORT3-disagrees", an error: what is wrong beyond rounding
};

// Runs the file on a few samples in ONNX Runtime, where that is installed, and judges its outputs by the
// reference of the file. Integer kernels round otherwise than floats do, so a quantized file may err by as
// much as rounding to codes costs, as the reference that rounds nothing tells, and by a tenth at most. A
// file for TensorRT runs in the reference alone. `model` is what was exported, read from `model_file`.
// Errors of the reference on random inputs become notes.
Verification verify_export(const std::filesystem::path& file, const std::filesystem::path& model_file,
                           const Model& model, const VerifyOptions& options);

}  // namespace vernier
