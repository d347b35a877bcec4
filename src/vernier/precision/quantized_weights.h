// Weights as integers, by their own content alone.
#pragma once

#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// weights = values * scales, symmetric.
struct QuantizedWeights {
  Tensor values, scales;
  int64_t axis = 0;
  int64_t block = 0;  // how many elements along the axis share a scale; 0: those of a slice do
};
// i8, with a scale for each slice along `axis`, which is `least` or more where that is given. Throws
// bad_input for weights that are NaN or infinite.
QuantizedWeights quantize_weights(const Tensor& weights, int64_t axis, const std::vector<double>& least = {});
// i4, with a scale for each `block` elements along `axis`, the one of several that makes the least square
// error. Throws bad_input for weights that are NaN or infinite.
QuantizedWeights quantize_blocks(const Tensor& weights, int64_t axis, int64_t block);
// Quantizes the weights of a contraction: i8 with a scale for each output channel, or with a `block` i4 along
// the axis that is summed over. Scales of i8 are `least` or more: least_weight_scales. Names the node where
// it throws.
QuantizedWeights quantize_weights(const Node& node, const Tensor& weights, int64_t block,
                                  const std::vector<double>& least = {});

// Gives, for a contraction with constant weights of this rank, the axis of the weights that counts output
// channels.
int64_t output_axis(const Node& node, int64_t rank);
// Whether blocks can be made of the weights: a MatMul or Gemm of floats by a constant matrix.
bool has_block_weights(const Node& node);

// Scales of weights that leave room for a bias.

// Engines of integers add a bias as codes of INT32 whose scale is that of the input times that of the
// weights. Where weights of a channel are nearly zero, that scale is, too, and the codes saturate. The least
// scale that each output channel of a Conv, Gemm or MatMul needs so that its bias is a code of at most 2^30,
// which leaves as much to the products. Empty where there is no bias that is known, or where the first input
// is not dequantized. The bias of a MatMul is what an Add behind it adds.
std::vector<double> least_weight_scales(const Node& node, int64_t channels);

}  // namespace vernier
