// One number may be a scalar or a vector of one element, and data often hold the other one of the two.
#pragma once

#include <optional>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

// The sizes that a tensor of these sizes takes to be of the rank of `type`, if it holds one number and both
// ranks are 0 or 1; nothing if it is of that rank already, or cannot be.
inline std::optional<Dims> dims_of_rank(const Dims& dims, const TensorType& type) {
  if (!type.shape || type.shape->size() == dims.size() || type.shape->size() > 1 || dims.size() > 1 ||
      element_count(dims) != 1)
    return std::nullopt;
  return Dims(type.shape->size(), 1);
}

}  // namespace vernier
