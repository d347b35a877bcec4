// The requests and answers of docs/runner-protocol.md, over one child process.
#pragma once

#include <filesystem>

#include "vernier/backends/process/child_process.h"
#include "vernier/backends/process/runner_answers.h"

namespace vernier {

struct LoadRequest {
  std::filesystem::path model;
  std::map<std::string, std::string> options;
  int threads = 0;  // 0: as the engine likes
};

struct RunRequest {
  std::filesystem::path inputs, outputs;  // safetensors files; the runner writes the second
  std::vector<std::string> taps;
  size_t repeat = 0;  // above 0: only the times of so many runs are wanted
};

// Every request throws Error, naming the runner and the stage, when the process ends, hangs for `timeout`
// seconds, sends something else than one answer, or answers with an error.
class RunnerConnection {
 public:
  RunnerConnection(std::string name, const std::string& command);
  // Asks the process to close, and ends it if it does not.
  ~RunnerConnection();

  HelloAnswer hello(double timeout);
  LoadAnswer load(const LoadRequest& request, double timeout);
  RunAnswer run(const RunRequest& request, double timeout);
  // False after a failure that was more than an error in an answer: the process is gone.
  bool is_usable() const { return usable_; }

 private:
  nlohmann::json ask(const char* stage, nlohmann::json request, double timeout);
  // Gives what `parse` makes of the answer; an answer it cannot take is the end of the process.
  template <class Parse>
  auto parsed(const char* stage, const nlohmann::json& answer, const Parse& parse);
  // Stops the process and tells what is known.
  Error broken(const char* stage, const std::string& what);

  std::string name_;
  ChildProcess process_;
  int64_t requests_ = 0;
  bool usable_ = true;
};

// "runner 'x', stage run: what"
std::string runner_failure(const std::string& runner, const char* stage, const std::string& what);

}  // namespace vernier
