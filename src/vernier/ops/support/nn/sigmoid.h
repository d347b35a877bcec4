#pragma once

#include <cmath>

namespace vernier::ops {

// 1 / (1 + exp(-x)), without overflow at either end.
inline double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

}  // namespace vernier::ops
