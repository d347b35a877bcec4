// Momentum: one update of gradient descent with momentum, standard or after Nesterov.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/optimizer.h"

namespace vernier::ops {

namespace {

void reference_momentum(ReferenceContext& context) {
  const double alpha = context.attribute("alpha", 0.0f), norm = context.attribute("norm_coefficient", 0.0f);
  // The first update has no earlier gradient to balance.
  const double beta = context.integer(1, 0) > 0 ? context.attribute("beta", 0.0f) : 1.0;
  const double rate = context.real(0, 0);
  const auto mode = context.attribute<std::string>("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    throw bad_input("mode must be standard or nesterov, not '{}'", mode);
  const bool nesterov = mode == "nesterov";
  run_optimizer<3>(context, [=](std::array<double, 3>& values) {
    auto& [x, gradient, momentum] = values;
    const double slope = norm * x + gradient;
    momentum = alpha * momentum + beta * slope;
    x -= rate * (nesterov ? slope + alpha * momentum : momentum);
  });
}

}  // namespace

void register_momentum(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.preview.training",
                .op = "Momentum",
                .operands = {Role::kSetting, Role::kSetting, Role::kData, Role::kData, Role::kData},
                .repeats = 1,
                .max_outputs = kVariadic,
                .attributes = {{"alpha", "FLOAT"},
                               {"beta", "FLOAT"},
                               {"mode", "STRING"},
                               {"norm_coefficient", "FLOAT"}},
                .traits = kPointwise,
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_optimizer<3>,
                .reference = reference_momentum});
}

}  // namespace vernier::ops
