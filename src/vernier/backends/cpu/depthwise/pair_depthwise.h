// Convolutions of int8 of one channel a group, as pairs of int16 (pair_block.h).
#pragma once

#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Convolves channels-last images with known weights. Gives nothing, with `reason`, for other groups, and for
// what cannot follow the sums.
std::unique_ptr<Kernel> make_pair_depthwise(const KernelRequest& request, const QuantizedProduct& product,
                                            const ops::Convolution& shape, std::string& reason);

// Whether each group has one channel, and gives one.
bool is_depthwise(const ops::Convolution& shape);

// The sums alone, as INT32, of inputs 0 (x) and 1 (its zero point, INT32, if there is one).
std::unique_ptr<Kernel> make_pair_depthwise_sums(const Tensor& weights, const ops::Convolution& shape,
                                                 bool is_signed, bool has_zero);

}  // namespace vernier::cpu
