// Tensors that are kept for later in a file instead of memory: a run shows every value of a model, and
// together they are many times what the run itself holds.
#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier {

// The same tensor, its elements in a file without a name, which the system may keep in memory or not. Those
// that were read last stay mapped with their pages, kSetAsideResident bytes of them. Small tensors, strings,
// and what the disk has no room for are given back as they are.
Tensor set_aside(const Tensor& tensor);

inline constexpr size_t kSetAsideResident = size_t{8} << 20;

}  // namespace vernier
