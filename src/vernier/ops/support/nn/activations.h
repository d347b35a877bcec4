// Activation functions of one real argument that several operators fuse.
#pragma once

#include <numbers>

#include "vernier/ops/support/nn/sigmoid.h"

namespace vernier::ops {

inline double silu(double x) {
  return x * sigmoid(x);
}
inline double relu(double x) {
  return x < 0 ? 0 : x;
}
inline double leaky_relu(double x, double alpha) {
  return x < 0 ? alpha * x : x;
}
inline double gelu_exact(double x) {
  return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}
// The approximation of gelu by tanh.
inline double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

}  // namespace vernier::ops
