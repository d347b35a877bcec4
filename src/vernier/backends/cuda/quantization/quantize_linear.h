// QuantizeLinear and DequantizeLinear that are no part of a pointwise program.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Quantizes to all such types, integers of 2 to 32 bits and floats of 4 and 8, with scales of the tensor, of
// an axis or of blocks. Gives nothing, with `reason`, for other types, and for scales that do not lie as x
// does.
std::unique_ptr<CudaKernel> make_quantize_linear(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
