// Kernels of support vector machines: how alike a sample and a support vector are.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

struct SvmKernel {
  enum class Type : uint8_t { kLinear, kPoly, kRbf, kSigmoid };
  Type type = Type::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;

  // Both have `width` numbers.
  double operator()(const double* sample, const float* vector, int64_t width) const;
};

// From the node's attributes `kernel_type` and `kernel_params`. Throws bad_input for others than ONNX knows.
SvmKernel svm_kernel_of(const Node& node);

}  // namespace vernier::ops
