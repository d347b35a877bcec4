// From the options behind a runner that is an engine to how it is built: for `run`, `build` and `bench`
// alike.
#pragma once

#include "vernier/cli/options/runner_options.h"
#include "vernier/engine/build_options.h"

namespace vernier {

// Reads the options of a runner that is built: --cpu, or a kind of accelerator. Throws usage_error for
// options of other runners, and for values that are none; unsupported where a library or the device is
// missing.
BuildOptions engine_options(const RunnerSpec& spec);

}  // namespace vernier
