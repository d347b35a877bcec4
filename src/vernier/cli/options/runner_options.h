// The runners of a command line, in their order, each with the options that follow it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vernier/exec/runner.h"

namespace vernier {

struct RunnerSpec {
  std::string kind;                            // "reference", "onnxruntime", "runner", "load-run", …
  std::string argument;                        // after '=', or the argument that follows; may be empty
  std::map<std::string, std::string> options;  // "bf16" -> "", "optimization" -> "disable"
  bool is_against = false;                     // --against stands before it
};

// Whether it is an engine of Vernier that is built: on the CPU, or on an accelerator.
bool is_built_engine(const RunnerSpec& spec);
// The specs that take_runner_arguments found.
const std::vector<RunnerSpec>& runner_specs();
// The same as a command line has them, for reports.
std::string runners_text();
// All options that name a runner, or belong to one: "--cpu", "--fp16".
std::vector<std::string> runner_option_names();
// Before another command of the same process.
void forget_runners();
// The option that puts a fault into an engine (docs/fault-injection.md).
inline constexpr const char* kFaultOption = "inject-fault";
// Limits the instruction sets of the CPU engine: an option of engines, and of the whole process.
inline constexpr const char* kIsaOption = "isa";
// Does what --isa asks for, before anything asks the processor. Throws usage_error where engines of one
// process differ in it, unsupported where the machine lacks the level. With `only_last`, the engine meant is
// that of the last spec.
void limit_isa_as_asked(bool only_last);
// Gives the text for reports: the faults of all specs, "" if there are none.
std::string injected_faults();
// Text for --help: all about runners.
std::string runner_help();

// Throws usage_error or unsupported, naming the runner.
std::unique_ptr<Runner> make_runner(const RunnerSpec& spec, const RunnerModel& model, int threads);
// The same, but a child process loads the model in its first run, so that failing to is one of the engine's
// failures, and has at most so many seconds for that and for each run.
std::unique_ptr<Runner> make_late_runner(const RunnerSpec& spec, const RunnerModel& model, int threads,
                                         double seconds);

}  // namespace vernier
