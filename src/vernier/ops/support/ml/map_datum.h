// Maps as data: the vector of the keys, which ascend, and that of the values.
#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier::ops {

// From keys in any order, strings or integers, and one tensor of one element for each; the last of equal keys
// counts. Throws bad_input where they do not fit together.
Datum make_map(const Tensor& keys, const std::vector<Datum>& values);

// Places in the vector of keys, ascending by key, the last of equal keys.
std::vector<int64_t> places_by_key(const Tensor& keys);

// The elements at these places of a vector, or of any tensor as it lies in memory.
Tensor take(const Tensor& from, const std::vector<int64_t>& places);

}  // namespace vernier::ops
