// Convolutions of single channels whose images lie channels last.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// With the cut at zero that follows in its group. Nothing, with `reason`, for other convolutions, and for
// images that lie plain.
std::unique_ptr<CudaKernel> make_depthwise(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
