// Convolutions of the model as cuDNN is asked for them.
#pragma once

#include <optional>

#include "vernier/backends/shared/epilogue.h"
#include "vernier/exec/backend.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier::cuda {

// A tensor by the sizes that the library knows it by, [n, c, spatial…], and the steps of its axes, both in
// elements.
struct DnnTensor {
  std::vector<int64_t> sizes, steps;
  bool operator==(const DnnTensor&) const = default;
};

// y = relu(conv(x, w) + residual + bias), each part but the first left out where it is not there: added in
// this order, for which there are plans, in float, whatever lies in memory, and rounded once at the end.
struct DnnConvolution {
  ElementType element = ElementType::kUndefined;
  DnnTensor x, w, y, bias;  // a residual lies as y does
  ops::WindowAxes axes;     // two or three
  bool channels_last = false;
  bool tf32 = false;           // factors, floats, are rounded to TF32; where they may be, until no plan does
  bool turns_weights = false;  // a product's, which lie as [k, n]
  // Inputs of the request.
  size_t x_input = 0, w_input = 1;
  std::optional<size_t> bias_input, residual_input;
  bool adds_zeros = false;  // as the bias that is not there: no plan adds or cuts without one
  bool relu = false;
  double most = HUGE_VAL;  // what the relu cuts off
  // Our own convolutions of single channels compute it behind the sum; no plan does.
  std::optional<PostOp> activation;
  // The image lies plain, and the result channels last: the kernel lays it out, with as many channels as
  // `x` says, of which the last are zeros, as those of the weights.
  bool pads_channels = false;
  int64_t image_channels = 0;  // of the request's image
};

// Whether the image has so few channels, in 16 bits, that the kernel gives it kPaddedChannels.
bool has_few_channels(const KernelRequest& request, const DnnConvolution& asked);

// Writes all that a plan depends on: the same text has the same plan.
std::string text_of(const DnnConvolution& asked);

// Describes a Conv, or a group of one and what follows, whose images lie as the request says; and of a Gemm
// of 16 bits with an addend for each column, whose rows are pixels that lie channels last: it is rounded once
// here. Nothing, with `reason`, for what cuDNN is not asked for.
std::optional<DnnConvolution> dnn_convolution(const KernelRequest& request, std::string& reason);

// Whether `next`, which reads `chain`, can follow in the kernel of `anchor`: for the pass that makes the
// groups.
bool can_follow_convolution(const Node& anchor, const Node& next, const Value& chain);

}  // namespace vernier::cuda
