#pragma once

#include <random>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The tensor with every element moved to the next number above or below, or left, at random: the least change
// that the type can express. Zeros, NaN and Inf stay, as do tensors that are not float, double, float16 or
// bfloat16.
Tensor jittered(const Tensor& tensor, std::mt19937_64& random);

}  // namespace vernier
