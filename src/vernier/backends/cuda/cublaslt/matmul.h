// Products that cuBLASLt computes.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Multiplies float, float16 and bfloat16 strictly: factors as they lie, accumulators in float, one rounding
// of what is stored, and the same bits every time. Floats that may be rounded to TF32 (ops/tf32.h) are, if
// the library has a way for it. The way is the first that it offers and that keeps to this, or the request's
// tactic. Nothing, with `reason`, where it serves no such product, or is missing.
std::unique_ptr<CudaKernel> make_library_product(const KernelRequest& request, CublasLt& library,
                                                 std::string& reason);
// The names of those ways, the engine and its knobs: by TF32, where they may be, and then strict ones.
std::vector<std::string> library_product_tactics(const KernelRequest& request, CublasLt& library);

}  // namespace vernier::cuda
