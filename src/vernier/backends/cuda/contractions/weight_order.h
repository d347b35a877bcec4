// Weights in the orders in which kernels read them. Each holds every bit of the constant, so that an engine
// file has it instead.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Matrix units take so many channels of 16 bits at a time; images of fewer are given as many.
inline constexpr int64_t kPaddedChannels = 8;

enum class WeightOrder : uint8_t {
  kChannelsLast,         // [m, c, taps…] as [m, taps…, c]
  kChannelsLastOfEight,  // the same as [m, taps…, 8]: zeros are behind the channels, which are fewer
  kTapsFirst,            // [m, 1, taps…] as [taps…, m]
  kTransposed,           // [k, n] as [n, k]
};

// An input of the request in this order: a constant of the engine, or a copy that the kernel makes first, at
// the start of its working memory.
struct OrderedWeights {
  CudaKernel::Place place;
  size_t scratch_bytes = 0;  // of the copy
};
OrderedWeights order_weights(CudaKernel& kernel, const KernelRequest& request, size_t input,
                             WeightOrder order);

// See Driver.
bool holds_weights(const std::string& form);
std::optional<Tensor> unpack_weights(const std::string& form, std::span<const std::byte> packed,
                                     ElementType element, const Dims& dims);

}  // namespace vernier::cuda
