#include "vernier/ops/support/fused_epilogue.h"

#include "vernier/ops/support/activations.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

void add_bias(const ReferenceContext& context, size_t input, const Dims& dims, std::vector<double>& values,
              double factor) {
  if (!context.has(input)) return;
  const auto bias = context.reals(input);
  const Dims& bias_dims = context.dims(input);
  if (broadcast(dims, bias_dims) != dims)
    throw bad_input("a bias {} does not broadcast to {}", dims_text(bias_dims), dims_text(dims));
  for_each_broadcast<1>(
      dims, {&bias_dims},
      [&](int64_t begin, int64_t count, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
        for (int64_t i = 0; i < count; ++i)
          values[static_cast<size_t>(begin + i)] += factor * bias[at[0] + i * step[0]];
      });
}

void activate(std::string_view activation, const std::vector<float>& parameters,
              std::vector<double>& values) {
  const auto parameter = [&](size_t index, float fallback) -> double {
    return index < parameters.size() ? parameters[index] : fallback;
  };
  const auto apply = [&](auto f) {
    for (double& value : values) value = f(value);
  };
  if (activation.empty()) return;
  if (activation == "Relu") return apply(relu);
  if (activation == "Sigmoid") return apply(sigmoid);
  if (activation == "Tanh") return apply([](double x) { return std::tanh(x); });
  if (activation == "Softplus")
    return apply([](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
  if (activation == "Softsign") return apply([](double x) { return x / (1 + std::abs(x)); });
  if (activation == "LeakyRelu")
    return apply([alpha = parameter(0, 0.01f)](double x) { return leaky_relu(x, alpha); });
  if (activation == "ThresholdedRelu")
    return apply([alpha = parameter(0, 1)](double x) { return x > alpha ? x : 0; });
  if (activation == "Elu")
    return apply([alpha = parameter(0, 1)](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
  if (activation == "HardSigmoid") {
    return apply([alpha = parameter(0, 0.2f), beta = parameter(1, 0.5f)](double x) {
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    });
  }
  if (activation == "Clip") {
    const double low = parameter(0, std::numeric_limits<float>::lowest()),
                 high = parameter(1, std::numeric_limits<float>::max());
    return apply([=](double x) { return std::min(std::max(x, low), high); });
  }
  throw unsupported("the fused activation '{}' is not known", activation);
}

}  // namespace vernier::ops
