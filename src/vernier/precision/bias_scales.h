// Scales of weights that leave room for a bias.
#pragma once

#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Engines of integers add a bias as codes of INT32 whose scale is that of the input times that of the
// weights. Where weights of a channel are nearly zero, that scale is, too, and the codes saturate. The least
// scale that each output channel of a Conv, Gemm or MatMul needs so that its bias is a code of at most 2^30,
// which leaves as much to the products. Empty where there is no bias that is known, or where the first input
// is not dequantised. The bias of a MatMul is what an Add behind it adds.
std::vector<double> least_weight_scales(const Node& node, int64_t channels);

}  // namespace vernier
