// Whether what a node reads is a mask, by its content.
#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier {

// An addend that excludes is at most this.
inline constexpr double kLargestSentinel = -1000;

// Nothing but what keeps (0) and what excludes.
bool is_additive_mask(const Tensor& tensor);
// Nothing but 0 and 1, and both of them.
bool is_factor_mask(const Tensor& tensor);

}  // namespace vernier
