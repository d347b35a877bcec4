// How one kernel asks for another.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "vernier/exec/backend.h"

namespace vernier {

// Returns nothing, with `reason` set, if there is no kernel for the request.
using MakeKernel = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& reason)>;

}  // namespace vernier
