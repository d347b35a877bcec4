// Conversion between any two element types, by the rules of Cast.
#pragma once

#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier::ops {

struct CastOptions {
  bool saturate = true;           // 8-bit floats: hold what is out of range at the largest value
  std::string round_mode = "up";  // to FLOAT8E8M0: "up", "down", "nearest"
};

// Floats are rounded once, to nearest even; integers keep their low bits; floats to integers are truncated.
// Throws bad_input for text that is no number and unsupported between complex numbers and text.
Tensor cast(const Tensor& x, ElementType to, const CastOptions& options = {});

}  // namespace vernier::ops
