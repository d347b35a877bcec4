// Depthwise convolutions of floats and bfloat16 that end in one pass, by depthwise_vector_loops.h.
#pragma once

#include "vernier/backends/cpu/kernels/constant_convolution.h"
#include "vernier/backends/cpu/kernels/row_epilogue.h"

namespace vernier::cpu {

// What the general kernel was given: taps [taps, channels] and what the sums of each channel begin with.
// Nothing for types, windows and epilogues that it does not serve.
std::unique_ptr<Kernel> make_depthwise_vectors(const ConstantConvolution& convolution,
                                               const std::vector<float>& taps,
                                               const std::vector<float>& start, const RowEpilogue& epilogue);

}  // namespace vernier::cpu
