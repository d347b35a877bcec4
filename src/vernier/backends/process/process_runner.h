// Any engine in a child process that speaks the protocol of docs/runner-protocol.md.
#pragma once

#include <memory>
#include <optional>

#include "vernier/backends/process/runner_connection.h"
#include "vernier/base/file.h"
#include "vernier/exec/runner.h"

namespace vernier {

struct ProcessOptions {
  std::string name;                              // in reports
  std::string command;                           // for /bin/sh
  double load_timeout = 600, run_timeout = 600;  // seconds
  int threads = 0;                               // 0: as the engine likes
  std::map<std::string, std::string> options;    // for the runner, which says what it knows
  bool loads_late = false;                       // the first run has it load the model
};

// Reads "NAME=COMMAND", as --runner takes it. Throws usage_error.
ProcessOptions parse_runner_option(std::string_view text);

class ProcessRunner : public Runner {
 public:
  // Starts the process and has it load the model, unless that is for the first run; throws Error, naming the
  // stage ("start", "load"), when either fails.
  ProcessRunner(const RunnerModel& model, ProcessOptions options);

  const std::string& name() const override { return options_.name; }
  std::map<std::string, std::string> description() override { return description_; }
  // After a crash or a hang the next run starts the process anew. Outputs that are missing, not asked for, or
  // of another type or size than the model declares are errors.
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  // By the runner's own clock. Throws unsupported unless it has the capability "repeat".
  std::vector<double> time(const NamedData& inputs, size_t runs) override;
  void limit_time(double seconds) override;
  // Gives the seconds of the last run, by its own clock; 0 if it does not say.
  double last_seconds() const { return last_seconds_; }

 private:
  void start();
  void load();
  void prepare();
  double within_limit(double timeout) const;
  Trace make_trace(const RunAnswer& answer, const std::filesystem::path& outputs,
                   const std::vector<std::string>& taps) const;

  RunnerModel model_;
  ProcessOptions options_;
  TemporaryFolder folder_;
  std::unique_ptr<RunnerConnection> connection_;  // null after a failed start
  std::map<std::string, std::string> description_;
  std::vector<std::string> load_notes_;
  bool can_tap_ = false, can_repeat_ = false, is_loaded_ = false;
  double limit_ = 0;  // of seconds; 0: none
  std::vector<std::string> last_taps_;
  double last_seconds_ = 0;
  int64_t runs_ = 0;
};

}  // namespace vernier
