// Convolutions that cuDNN computes.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/cudnn/cudnn.h"

namespace vernier::cuda {

// Convolves float, float16 and bfloat16, alone or with the residual and the cut at zero that follow in their
// group: factors as they lie, sums in float, one rounding of what is stored, and the same bits every time.
// Floats that may be rounded to TF32 (ops/tf32.h) are, if there is a plan for it. The plan is the first that
// the library expects to be fast and that keeps to this, or the request's tactic. Nothing, with `reason`,
// where it serves no such convolution, or is missing.
std::unique_ptr<CudaKernel> make_library_convolution(const KernelRequest& request, Cudnn& library,
                                                     std::string& reason);
// The names of the plans that keep to this.
std::vector<std::string> library_convolution_tactics(const KernelRequest& request, Cudnn& library);

// Sets the layouts in which a convolution, or a group of one and what follows, is computed fastest: the
// matrix units read channels last. False where cuDNN is not asked for it; then layouts are plain.
bool lay_out_convolution(KernelRequest& request);

}  // namespace vernier::cuda
