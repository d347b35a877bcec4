// Matrix products of int8 whose sums are integers, or floats that are made of these: what a request says.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

struct IntegerProduct {
  const Node* anchor = nullptr;
  size_t a = 0, b = 0;     // inputs of the request
  bool quantises = false;  // a is of floats, and quantised by its own range first
  // Inputs, too: zero points of a (of its rows) and b (of its columns), the scales that the sums are
  // multiplied with (of a, and of b or its columns), and what is added to each column at last.
  std::optional<size_t> a_zero = {}, b_zero = {}, a_scale = {}, b_scale = {}, bias = {};
};

// Nothing, with `reason`, for a group that is no such product.
std::optional<IntegerProduct> parse_integer_product(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cpu
