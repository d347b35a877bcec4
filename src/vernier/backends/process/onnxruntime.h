// ONNX Runtime as a runner, through python/vernier_runners/onnxruntime_runner.py.
#pragma once

#include "vernier/backends/process/process_runner.h"

namespace vernier {

struct OnnxRuntimeOptions {
  std::string provider = "cpu";      // "cpu" or "cuda"
  std::string optimisation = "all";  // "disable", "basic", "extended" or "all"
  // Entries of the configuration of its session: "session.x64quantprecision" -> "1".
  std::map<std::string, std::string> session = {};
  int threads = 0;                               // 0: as it likes
  std::string python;                            // the interpreter; empty: see find_python
  double load_timeout = 600, run_timeout = 600;  // seconds
};

// "onnxruntime", or "onnxruntime=cuda", with the command that runs it. Throws unsupported, saying what to
// install, when there is no Python or no runner script.
ProcessOptions onnxruntime_process(const OnnxRuntimeOptions& options);
std::unique_ptr<ProcessRunner> make_onnxruntime_runner(const RunnerModel& model,
                                                       const OnnxRuntimeOptions& options = {});

// The interpreter for runners in Python: `wanted` if given, else the environment variable VERNIER_PYTHON,
// else the virtual environment of the source tree that this is a build of, else python3 of the PATH.
std::string find_python(const std::string& wanted);
// A script of python/vernier_runners, below ../share/vernier of the folder that the program lies in: copied
// there when Vernier is installed, linked when it is built.
std::filesystem::path find_runner_script(const std::string& name);
// A word that /bin/sh reads as `text`.
std::string quoted_for_shell(const std::string& text);

}  // namespace vernier
