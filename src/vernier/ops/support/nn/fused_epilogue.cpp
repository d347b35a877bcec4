#include "vernier/ops/support/nn/fused_epilogue.h"

#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/recurrent.h"

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

void activate(const std::string& activation, std::span<const float> parameters, std::vector<double>& values) {
  if (activation.empty()) return;
  const auto alphas = parameters.first(std::min<size_t>(1, parameters.size())),
             betas = parameters.subspan(alphas.size());
  if (activation == "Clip") {
    const double low = alphas.empty() ? std::numeric_limits<float>::lowest() : alphas[0];
    const double high = betas.empty() ? std::numeric_limits<float>::max() : betas[0];
    for (double& value : values) value = std::min(std::max(value, low), high);
    return;
  }
  std::span<const float> alpha = alphas, beta = betas;
  const Activation function(activation, alpha, beta, std::numeric_limits<double>::infinity());
  for (double& value : values) value = function(value);
}

}  // namespace vernier::ops
