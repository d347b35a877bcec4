// Faults in how a kernel's output comes to lie in memory: a stale buffer, a swapped axis, a missed
// synchronisation.
#pragma once

#include "vernier/backends/shared/faults/wrapped_kernel.h"

namespace vernier {

// Whether the fault would change the first output of this request.
bool spoils_output(Fault fault, const KernelRequest& request);
// For a fault of which spoils_output() is true.
std::unique_ptr<Kernel> spoil_output(Fault fault, const KernelRequest& request,
                                     std::unique_ptr<Kernel> kernel);

}  // namespace vernier
