#include "vernier/backends/process/onnxruntime.h"

#include <cstdlib>

namespace vernier {

namespace fs = std::filesystem;

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string find_python(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  if (const char* set = std::getenv("VERNIER_PYTHON"); set != nullptr && *set != '\0') return set;
  const fs::path local = fs::path(VERNIER_SOURCE_DIR) / ".venv/bin/python";
  std::error_code ignored;
  return fs::exists(local, ignored) ? local.string() : "python3";
}

fs::path find_runner_script(const std::string& name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed =
      program.parent_path().parent_path() / "share/vernier/python/vernier_runners" / name;
  const fs::path source = fs::path(VERNIER_SOURCE_DIR) / "python/vernier_runners" / name;
  for (const fs::path& candidate : {installed, source}) {
    if (fs::exists(candidate, ignored)) return candidate;
  }
  throw unsupported("the runner script '{}' is neither at '{}' nor at '{}'", name, installed.string(),
                    source.string())
      .advise("install Vernier with its share folder");
}

ProcessOptions onnxruntime_process(const OnnxRuntimeOptions& options) {
  ProcessOptions process;
  process.name = options.provider == "cpu" ? "onnxruntime" : "onnxruntime=" + options.provider;
  process.command = fmt::format("exec {} {}", quoted_for_shell(find_python(options.python)),
                                quoted_for_shell(find_runner_script("onnxruntime_runner.py").string()));
  process.options = {{"provider", options.provider}, {"optimisation", options.optimisation}};
  process.threads = options.threads;
  process.load_timeout = options.load_timeout;
  process.run_timeout = options.run_timeout;
  return process;
}

std::unique_ptr<ProcessRunner> make_onnxruntime_runner(const RunnerModel& model,
                                                       const OnnxRuntimeOptions& options) {
  return std::make_unique<ProcessRunner>(model, onnxruntime_process(options));
}

}  // namespace vernier
