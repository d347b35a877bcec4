// Kernels that compute floats, on operands stored as float16 or bfloat16.
#pragma once

#include <functional>

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

using MakeKernel = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& reason)>;

// Whether the request has operands that could be widened, and means the same when they are.
bool can_be_widened(const KernelRequest& request);

// What `find` gives for the same request as make_widened() makes; nothing for requests
// of other types than float16, for which there are kernels of their own.
using FindTactics = std::function<std::vector<std::string>(const KernelRequest& request)>;
std::vector<std::string> widened_tactics(const KernelRequest& request, const FindTactics& find);

// What `make` gives for the request with floats in place of narrow floats. Each run widens its operands,
// which is exact, and rounds its results once. Constants are widened when the kernel is made.
std::unique_ptr<Kernel> make_widened(const KernelRequest& request, std::string& reason,
                                     const MakeKernel& make);

}  // namespace vernier::cpu
