// Convolutions of bfloat16 images whose channels do not fill what oneDNN multiplies at once.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// oneDNN multiplies bfloat16 in pairs of channels, and in rows of 32 where it uses tiles. What is missing in
// the last pair or row is filled up with channels of another pixel, times 0: a NaN or an infinity there
// becomes a NaN here. The kernel that this gives runs `kernel` where input `x` of the request is finite, else
// `exact`, in memory of its own.
std::unique_ptr<Kernel> where_finite(std::unique_ptr<Kernel> kernel, std::unique_ptr<Kernel> exact,
                                     const KernelRequest& request, int x);

}  // namespace vernier::cpu
