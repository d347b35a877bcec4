// How the sums of most contractions end: y = f(sum), where f clamps, or is x * sigmoid(swish * x).
#pragma once

#include <limits>

namespace vernier::cpu {

struct RowEnd {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  float swish = 0;  // else: f is the swish, to the digits of bfloat16
};

}  // namespace vernier::cpu
