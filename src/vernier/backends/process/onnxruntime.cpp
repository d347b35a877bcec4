#include "vernier/backends/process/onnxruntime.h"

#include <cstdlib>

namespace vernier {

namespace fs = std::filesystem;

namespace {

// Beside the folder of this program: `share/vernier/python` where Vernier is installed, and in a build
// folder, where it is a link to the sources.
fs::path folder_of_scripts() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share/vernier/python";
}

}  // namespace

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string find_python(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  if (const char* set = std::getenv("VERNIER_PYTHON"); set != nullptr && *set != '\0') return set;
  std::error_code ignored;
  const fs::path local = fs::canonical(folder_of_scripts(), ignored).parent_path() / ".venv/bin/python";
  return fs::exists(local, ignored) ? local.string() : "python3";
}

fs::path find_runner_script(const std::string& name) {
  std::error_code ignored;
  fs::path script = folder_of_scripts() / "vernier_runners" / name;
  if (!fs::exists(script, ignored))
    throw unsupported("the runner script '{}' is not at '{}'", name, script.string())
        .advise("install Vernier with its share folder");
  return script;
}

ProcessOptions onnxruntime_process(const OnnxRuntimeOptions& options) {
  ProcessOptions process;
  process.name = options.provider == "cpu" ? "onnxruntime" : "onnxruntime=" + options.provider;
  process.command = fmt::format("exec {} {}", quoted_for_shell(find_python(options.python)),
                                quoted_for_shell(find_runner_script("onnxruntime_runner.py").string()));
  process.options = options.session;
  process.options["provider"] = options.provider;
  process.options["optimisation"] = options.optimisation;
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
