// A kernel that runs an operator's reference semantics: where a fault goes into a node that the backend has
// no kernel for.
#pragma once

#include "vernier/backends/shared/faults/changed_request.h"

namespace vernier {

// Null, with `reason`, for groups, and operands in a layout of images.
std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<ChangedRequest> request, std::string& reason);

}  // namespace vernier
