#include "vernier/backends/process/tensorrt.h"

#include "vernier/backends/process/onnxruntime.h"

namespace vernier {

ProcessOptions tensorrt_process(const TensorRtOptions& options) {
  ProcessOptions process;
  process.name = "tensorrt";
  process.command = fmt::format("exec {} {}", quoted_for_shell(find_python(options.python)),
                                quoted_for_shell(find_runner_script("tensorrt_runner.py").string()));
  process.options = options.build;
  return process;
}

}  // namespace vernier
