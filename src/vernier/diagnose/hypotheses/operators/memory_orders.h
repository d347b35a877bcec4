// Elements that lie in memory otherwise than who reads them takes them to.
#pragma once

#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The elements of a tensor whose axes lie in the order `axes`, in that order, under the tensor's own sizes:
// what is read where a layout is taken for another.
Tensor misread(const Tensor& tensor, const std::vector<size_t>& axes);

// The same axes in another order: element (i0, i1, ...) of the result is that of which index axes[k] is ik.
Tensor permuted(const Tensor& tensor, const std::vector<size_t>& axes);

// One axis backwards: BGR for RGB.
Tensor reversed(const Tensor& tensor, size_t axis);

// 0, 1, ..., rank - 1
std::vector<size_t> in_order(size_t rank);

struct MemoryOrder {
  std::string what;  // "its last two axes lie the other way round"
  std::vector<size_t> axes;
};

// The usual mistakes.
std::vector<MemoryOrder> usual_orders(size_t rank);

}  // namespace vernier
