// LSTM, GRU and RNN: one product of all inputs with W, then the steps.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/recurrent/recurrent_steps.h"

namespace vernier::cuda {

// With a product of our own, which serves double, too. Nothing, with `reason`, for types without a kernel and
// for inputs without elements. R that is no larger than `most_looped` is read by blocks that walk through
// time.
std::unique_ptr<CudaKernel> make_own_recurrent(const KernelRequest& request, std::string& reason,
                                               int64_t most_looped = kMostLooped);
// With one of cuBLASLt, summed in float and not rounded. Nothing, with `reason`, for other operators, too.
std::unique_ptr<CudaKernel> make_library_recurrent(const KernelRequest& request, CublasLt& library,
                                                   std::string& reason, int64_t most_looped = kMostLooped);

}  // namespace vernier::cuda
