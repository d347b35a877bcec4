// Pointwise operators of one operand of 8 bits.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// As a table of their 256 results, which the operator's reference makes, so that they are exactly what it
// means. Nothing, with `reason`, where another operand is not known, or the result has other than 8 bits.
std::unique_ptr<CudaKernel> make_int8_table(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
