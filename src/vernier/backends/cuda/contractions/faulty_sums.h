// Products and convolutions whose sums go wrong on purpose (docs/fault-injection.md).
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/shared/faults/fault.h"

namespace vernier::cuda {

// Computes a MatMul, a Gemm or a Conv of floats by kernels of Vernier. Gives null, with `reason`, where these
// have none.
std::unique_ptr<CudaKernel> make_faulty_sums(Fault fault, const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
