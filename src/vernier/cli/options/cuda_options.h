// A GPU on a command line.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/cli/options/runner_options.h"

namespace vernier {

inline constexpr const char* kCudaPathOption = "cuda-path";

// What --help says of its options.
std::string cuda_help();
// Of a runner --cuda[=GPU]. Throws usage_error, and unsupported where a library or the GPU is missing.
std::shared_ptr<const Driver> cuda_driver(const RunnerSpec& spec);

}  // namespace vernier
