// The simulated accelerator on a command line.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/cli/options/runner_options.h"

namespace vernier {

inline constexpr const char* kLacksOption = "lacks";
inline constexpr const char* kStreamsOption = "streams";

// What --help says of its options.
std::string simulated_help();
// Of a runner --simulated[=SEED]. Throws usage_error.
std::shared_ptr<const Driver> simulated_driver(const RunnerSpec& spec);

}  // namespace vernier
