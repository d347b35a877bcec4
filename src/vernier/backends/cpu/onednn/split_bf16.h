// Products of floats as three products of bfloat16: with a = hi + lo and b = hi + lo, hi*hi + hi*lo + lo*hi,
// summed in float. Where the processor multiplies bfloat16 tiles (AMX) that is faster, and keeps 16 to 17
// bits of each factor. An infinite factor may give NaN.
#pragma once

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

inline constexpr const char* kSplitTactic = "bf16x3";

// Whether this processor has tiles of bfloat16.
bool has_bf16_tiles();

// Rows of `depth` floats become rows of 3 * depth bfloat16: hi, hi, lo.
void split_rows(const float* from, uint16_t* to, int64_t rows, int64_t depth);

// The other factor, packed as `wanted`: hi, lo, hi along `axis` of the sizes that `as_is` has.
PackedMemory pack_split(const KernelRequest& request, const Tensor& weights, const dnnl::memory::desc& as_is,
                        int axis, const dnnl::memory::desc& wanted);

// The weights of a product: packed if they are constant (split along `split_axis`, if given), else as they
// come.
Argument weights_argument(const KernelRequest& request, int input, const dnnl::memory::desc& as_is,
                          const dnnl::memory::desc& wanted, std::optional<int> split_axis);

// Splits input `split` of `product`, whose primitive reads it as rows of 3 * depth bfloat16, and runs it.
std::unique_ptr<Kernel> make_split_kernel(std::unique_ptr<DnnlKernel> product, int split, int64_t rows,
                                          int64_t depth);

}  // namespace vernier::cpu
