#pragma once

#include <cstdint>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The same seed moves a tensor the same way.

// The tensor with every element moved to the next number above or below, or left, at random: the least change
// that the type can express. Zeros, NaN and Inf stay, as do tensors that are not float, double, float16 or
// bfloat16.
Tensor jittered(const Tensor& tensor, uint64_t seed);

// The noise of sums of `terms` products that are accumulated in the tensor's own type: an error that grows
// with the root of the number of terms, relative to what is summed and not to what is left after
// cancellation. Normal, of a standard deviation of sqrt(terms) / 4 units in the last place of the tensor's
// root mean square. Float and double only; other types are jittered.
Tensor with_sum_noise(const Tensor& tensor, double terms, uint64_t seed);

// Gives what the noise of such sums in float leaves of a tensor that is rounded to a narrower type: the part
// that was rounded away is drawn at random, the noise of float is added, and the sum is rounded again, so few
// elements move. float16 and bfloat16 only; other types as with_sum_noise().
Tensor with_rounding_flips(const Tensor& tensor, double terms, uint64_t seed);

}  // namespace vernier
