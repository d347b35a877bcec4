// Runners of a command line that are child processes.
#pragma once

#include <initializer_list>
#include <optional>

#include "vernier/backends/process/process_runner.h"
#include "vernier/cli/options/runner_options.h"

namespace vernier {

// Throws usage_error if options belong to the runner that it does not take.
void allow_options(const RunnerSpec& spec, std::initializer_list<std::string_view> allowed);

// Reads the options of runners that are child processes; gives nothing for others. Throws as make_runner
// does.
std::optional<ProcessOptions> process_options(const RunnerSpec& spec, int threads);

}  // namespace vernier
