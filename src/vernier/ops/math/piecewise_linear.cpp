// Activations made of straight pieces: Relu (integers since opset 14), LeakyRelu, ThresholdedRelu,
// HardSigmoid, Shrink.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/unary_real.h"

namespace vernier::ops {

namespace {

void infer_relu(InferContext& context) {
  context.set_type(0, context.type(0));
  follow_unary(context, [](const Dim& x) { return max(x, 0); });
}

void relu(ReferenceContext& context) {
  map_number(context, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

void leaky_relu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  map_real(context, [=](double x) { return x < 0 ? alpha * x : x; });
}

void thresholded_relu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  map_real(context, [=](double x) { return x > alpha ? x : 0; });
}

void hard_sigmoid(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha"), beta = real_attribute(context.node(), "beta");
  map_real(context, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

void shrink(ReferenceContext& context) {
  const double bias = real_attribute(context.node(), "bias"),
               lambda = real_attribute(context.node(), "lambd");
  map_real(context, [=](double x) {
    if (x < -lambda) return x + bias;
    return x > lambda ? x - bias : 0;
  });
}

}  // namespace

void register_piecewise_linear(OpRegistry& registry) {
  registry.add({.op = "Relu",
                .operands = {Role::kData},
                .attributes = {{"consumed_inputs", "INTS"}},
                .traits = kPointwise | kRoundsNothing,
                .since = {13, 1},
                .infer = infer_relu,
                .reference = relu});
  add_unary_real(registry, "LeakyRelu", {{"alpha", "FLOAT"}, {"consumed_inputs", "INTS"}}, {16, 1},
                 leaky_relu);
  add_unary_real(registry, "ThresholdedRelu", {{"alpha", "FLOAT"}, {"consumed_inputs", "INTS"}}, {22, 10},
                 thresholded_relu);
  add_unary_real(registry, "HardSigmoid",
                 {{"alpha", "FLOAT"}, {"beta", "FLOAT"}, {"consumed_inputs", "INTS"}}, {22, 1}, hard_sigmoid,
                 1);
  add_unary_real(registry, "Shrink", {{"bias", "FLOAT"}, {"lambd", "FLOAT"}, {"consumed_inputs", "INTS"}},
                 {0, 9}, shrink);
}

}  // namespace vernier::ops
