// TensorRT as a runner, through python/vernier_runners/tensorrt_runner.py and TensorRT's Python package.
#pragma once

#include <filesystem>

#include "vernier/backends/process/process_runner.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct TensorRtOptions {
  std::string python;                        // an interpreter that has the package; empty: see find_python
  std::map<std::string, std::string> build;  // as the script documents them: "fp16" -> "1", …
};

// "tensorrt", with the command that runs it. Throws unsupported when there is no runner script; that there is
// no TensorRT the process says when it starts.
ProcessOptions tensorrt_process(const TensorRtOptions& options);

// Holds what TensorRT itself says of a model, through python/vernier_runners/tensorrt_check.py.
struct TensorRtAnswer {
  struct Complaint {
    std::string stage;  // "parser" or "builder"
    std::string node;   // as the parser names it; may be empty
    std::string message;
  };
  std::string engine;  // "tensorrt_rtx 1.7.1.116"
  std::vector<Complaint> complaints;
};

struct TensorRtQuestion {
  std::string python;  // an interpreter that has the package; empty: see find_python
  NamedData inputs;    // of one sample: sizes of free dimensions, and content of inputs that decide sizes
  std::map<std::string, std::string> options;  // as the script documents them
  double timeout = 600;                        // seconds
};

// Has parser and builder look at the file, in a child process; nothing is run. A process that dies there is a
// complaint of the stage that it was in. Throws unsupported where neither package is installed.
TensorRtAnswer ask_tensorrt(const std::filesystem::path& model, const TensorRtQuestion& question);

}  // namespace vernier
