// Contractions of int8, and what follows them.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/quantization/contraction_builder.h"

namespace vernier::cuda {

// Sums are exact, in int32. Products, and convolutions by way of their gathered windows, are cuBLASLt's, by
// its first way or the request's tactic. Nothing, with `reason`, for what cuBLASLt does not multiply.
std::unique_ptr<CudaKernel> make_library_int8_contraction(const KernelRequest& request, CublasLt& library,
                                                          std::string& reason,
                                                          int64_t most_gathered = kMostGathered);
// The names of its ways.
std::vector<std::string> library_int8_tactics(const KernelRequest& request, CublasLt& library);

// Whether the operator, or the group, is one of these.
bool multiplies_int8(const Node& node);
// Lays out images of convolutions channels last, so that windows are gathered by whole channels; all else
// plain.
void lay_out_int8(KernelRequest& request);

}  // namespace vernier::cuda
