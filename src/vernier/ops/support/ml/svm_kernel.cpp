#include "vernier/ops/support/ml/svm_kernel.h"

#include "vernier/base/error.h"

namespace vernier::ops {

double SvmKernel::operator()(const double* sample, const float* vector, int64_t width) const {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double difference = sample[i] - vector[i];
    sum += type == Type::kRbf ? difference * difference : sample[i] * vector[i];
  }
  switch (type) {
    case Type::kLinear: return sum;
    case Type::kPoly: return std::pow(gamma * sum + coef0, degree);
    case Type::kRbf: return std::exp(-gamma * sum);
    case Type::kSigmoid: return std::tanh(gamma * sum + coef0);
  }
  return sum;
}

SvmKernel svm_kernel_of(const Node& node) {
  static constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const auto name = node.attribute<std::string>("kernel_type", "LINEAR");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw bad_input("kernel_type '{}' is not known", name);
  SvmKernel kernel{static_cast<SvmKernel::Type>(found - std::begin(kNames))};
  const auto parameters = node.attribute<std::vector<float>>("kernel_params", {});
  if (parameters.empty()) return kernel;
  if (parameters.size() != 3)
    throw bad_input("kernel_params has {} entries, not gamma, coef0 and degree", parameters.size());
  kernel.gamma = parameters[0];
  kernel.coef0 = parameters[1];
  kernel.degree = parameters[2];
  return kernel;
}

}  // namespace vernier::ops
