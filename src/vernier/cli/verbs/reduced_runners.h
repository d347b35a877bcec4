// Runners of a command line as `reduce` needs them: made for one model after the other, and safe to crash.
#pragma once

#include "vernier/cli/runner_roles.h"
#include "vernier/cli/verb.h"
#include "vernier/reduce/repro_folder.h"
#include "vernier/reduce/runner_oracle.h"

namespace vernier {

// Makes the runner for a model. Engines of Vernier run in child processes. Throws usage_error for runners
// that run one model only.
MakeRunner reduced_runner(const RunnerSpec& spec, const CommonOptions& common);
// Gives what such a runner promises of its outputs; nothing of runners that are no engines of Vernier.
std::map<std::string, DerivedBound> bounds_of_reduced(Runner& runner, const NamedData& inputs, uint64_t seed);

// How the engine is run without Vernier. `anonymous`: without the folder of this command.
ReproEngine repro_engine(const RunnerSpec& spec, const CommonOptions& common, bool anonymous);
// The runners as arguments of `vernier run`, as a shell reads them.
std::string runner_arguments(const RunnerRoles& roles);

}  // namespace vernier
