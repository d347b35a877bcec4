// Adagrad: one update with a learning rate per element, which falls with the sum of its squared gradients.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/optimizer.h"

namespace vernier::ops {

namespace {

void reference_adagrad(ReferenceContext& context) {
  const double decay = context.attribute("decay_factor", 0.0f), epsilon = context.attribute("epsilon", 1e-6f);
  const double norm = context.attribute("norm_coefficient", 0.0f);
  const double rate = context.real(0, 0) / (1 + static_cast<double>(context.integer(1, 0)) * decay);
  run_optimizer<3>(context, [=](std::array<double, 3>& values) {
    auto& [x, gradient, squares] = values;
    const double slope = norm * x + gradient;
    squares += slope * slope;
    x -= rate * slope / (std::sqrt(squares) + epsilon);
  });
}

}  // namespace

void register_adagrad(OpRegistry& registry) {
  registry.add(
      {.domain = "ai.onnx.preview.training",
       .op = "Adagrad",
       .operands = {Role::kSetting, Role::kSetting, Role::kData, Role::kData, Role::kData},
       .repeats = 1,
       .max_outputs = kVariadic,
       .attributes = {{"decay_factor", "FLOAT"}, {"epsilon", "FLOAT"}, {"norm_coefficient", "FLOAT"}},
       .traits = kPointwise,
       .precision = PrecisionClass::kNeverLower,
       .infer = infer_optimizer<3>,
       .reference = reference_adagrad});
}

}  // namespace vernier::ops
