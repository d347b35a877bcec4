// Adam: one update along the average gradient, scaled by the average squared gradient; both averages forget
// exponentially and are corrected for their start at zero.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/optimizer.h"

namespace vernier::ops {

namespace {

void reference_adam(ReferenceContext& context) {
  const double alpha = context.attribute("alpha", 0.9f), beta = context.attribute("beta", 0.999f);
  const double epsilon = context.attribute("epsilon", 1e-6f);
  const double norm = context.attribute("norm_coefficient", 0.0f),
               norm_post = context.attribute("norm_coefficient_post", 0.0f);
  const auto updates = static_cast<double>(context.integer(1, 0));
  double rate = context.real(0, 0);
  if (updates > 0) rate *= std::sqrt(1 - std::pow(beta, updates)) / (1 - std::pow(alpha, updates));
  run_optimizer<4>(context, [=](std::array<double, 4>& values) {
    auto& [x, gradient, average, squares] = values;
    const double slope = norm * x + gradient;
    average = alpha * average + (1 - alpha) * slope;
    squares = beta * squares + (1 - beta) * slope * slope;
    x = (1 - norm_post) * (x - rate * average / (std::sqrt(squares) + epsilon));
  });
}

}  // namespace

void register_adam(OpRegistry& registry) {
  registry.add(
      {.domain = "ai.onnx.preview.training",
       .op = "Adam",
       .operands = {Role::kSetting, Role::kSetting, Role::kData, Role::kData, Role::kData, Role::kData},
       .repeats = 1,
       .max_outputs = kVariadic,
       .attributes = {{"alpha", "FLOAT"},
                      {"beta", "FLOAT"},
                      {"epsilon", "FLOAT"},
                      {"norm_coefficient", "FLOAT"},
                      {"norm_coefficient_post", "FLOAT"}},
       .traits = kPointwise,
       .precision = PrecisionClass::kNeverLower,
       .infer = infer_optimizer<4>,
       .reference = reference_adam});
}

}  // namespace vernier::ops
