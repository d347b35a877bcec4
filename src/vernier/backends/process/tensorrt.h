// TensorRT as a runner, through python/vernier_runners/tensorrt_runner.py and TensorRT's Python package.
#pragma once

#include "vernier/backends/process/process_runner.h"

namespace vernier {

struct TensorRtOptions {
  std::string python;                        // an interpreter that has the package; empty: see find_python
  std::map<std::string, std::string> build;  // as the script documents them: "fp16" -> "1", …
};

// "tensorrt", with the command that runs it. Throws unsupported when there is no runner script; that there is
// no TensorRT the process says when it starts.
ProcessOptions tensorrt_process(const TensorRtOptions& options);

}  // namespace vernier
