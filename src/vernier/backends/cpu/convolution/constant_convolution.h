// Convolutions as own kernels take them: channels-last images by constant weights.
#pragma once

#include <optional>

#include "vernier/backends/shared/epilogue.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

struct ConstantConvolution {
  ops::Convolution shape;
  ElementType element;  // of image, weights and output: float, float16 or bfloat16
  int input, weights;   // of the request
  int bias;             // of known content; -1: left out
};

// Nothing but for images of one or two axes and weights and biases that are known.
std::optional<ConstantConvolution> constant_convolution(const Fused& fused, const KernelRequest& request);

}  // namespace vernier::cpu
