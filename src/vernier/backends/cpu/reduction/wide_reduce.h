// Reductions of integers, BOOL and doubles, in 64 bits, as the reference does them.
#pragma once

#include "vernier/backends/cpu/reduction/reduction_walk.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Nothing, with `reason`, for operators that need functions of reals for integers.
std::unique_ptr<Kernel> make_wide_reduce(const KernelRequest& request, ReductionWalk walk,
                                         std::string& reason);

}  // namespace vernier::cpu
