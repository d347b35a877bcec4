// From the options behind a runner that is an engine to how it is built: for `run`, `build` and `bench`
// alike.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/engine/engine.h"

namespace vernier {

// Reads the options of a runner --cpu or --simulated. Throws usage_error for options of other runners, and
// for values that are none.
BuildOptions engine_options(const RunnerSpec& spec);

// A GPU on a command line.
inline constexpr const char* kCudaPathOption = "cuda-path";

// Gives the text of --help for its options.
std::string cuda_help();
// Makes the driver of a runner --cuda[=GPU]. Throws usage_error, and unsupported where a library or the GPU
// is missing.
std::shared_ptr<const Driver> cuda_driver(const RunnerSpec& spec);

// The simulated accelerator on a command line.
inline constexpr const char* kLacksOption = "lacks";
inline constexpr const char* kStreamsOption = "streams";
inline constexpr const char* kNoCaptureOption = "no-capture";  // of each accelerator

// Gives the text of --help for its options.
std::string simulated_help();
// Makes the driver of a runner --simulated[=SEED]. Throws usage_error.
std::shared_ptr<const Driver> simulated_driver(const RunnerSpec& spec);

}  // namespace vernier
