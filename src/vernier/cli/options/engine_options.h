// From the options behind a runner that is an engine to how it is built: for `run`, `build` and `bench`
// alike.
#pragma once

#include "vernier/cli/options/runner_options.h"
#include "vernier/engine/engine.h"

namespace vernier {

// Of a runner --cpu or --simulated. Throws usage_error for options of other runners, and for values that are
// none.
BuildOptions engine_options(const RunnerSpec& spec);

}  // namespace vernier
