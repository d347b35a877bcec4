// The CPU as the device of engines.
#pragma once

#include <set>
#include <string>

#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/shared/driver.h"

namespace vernier::cpu {

const Driver& driver();

// The kernels of this backend depend on these besides the model: an engine runs where these are the same.

// "oneDNN 2.6.3, Highway 1.0.3"
std::string library_versions();
// All tactics, whatever the processor has: what may be named to be used alone or not at all.
const std::set<std::string>& tactic_names();
// Tactics that compute another function, within a bound: what `--forbid approximate` forbids.
std::set<std::string> approximate_tactics();

}  // namespace vernier::cpu
