// Faults of kernels that do not let their process go on: a crash, a hang.
#pragma once

#include "vernier/backends/shared/faults/wrapped_kernel.h"

namespace vernier {

// For a fault of which stops_process() is true. The kernel is made as ever, and stops the process when it
// runs.
std::unique_ptr<Kernel> stop_process(Fault fault, std::unique_ptr<Kernel> kernel);

}  // namespace vernier
