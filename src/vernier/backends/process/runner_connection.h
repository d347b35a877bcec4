// The requests and answers of docs/runner-protocol.md, over one child process.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vernier/backends/process/child_process.h"
#include "vernier/base/error.h"

namespace vernier {

inline constexpr const char* kRunnerProtocol = "vernier-runner/1";

struct HelloAnswer {
  std::string engine, version;
  std::vector<std::string> capabilities;
  std::map<std::string, std::string> description;
};

struct LoadRequest {
  std::filesystem::path model;
  std::map<std::string, std::string> options;
  int threads = 0;  // 0: as the engine likes
};

struct LoadAnswer {
  std::map<std::string, std::string> description;
  std::vector<std::string> notes;
};

struct RunRequest {
  std::filesystem::path inputs, outputs;  // safetensors files; the runner writes the second
  std::vector<std::string> taps;
};

struct RunAnswer {
  std::vector<std::string> outputs;  // the names in the file
  std::vector<std::string> notes;
  double seconds = 0;  // of the engine alone; 0: not measured
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
  nlohmann::json parse_answer(const char* stage, const std::string& line);
  Error error_of(const char* stage, const nlohmann::json& error) const;
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
