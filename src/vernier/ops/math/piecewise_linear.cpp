// Activations made of straight pieces: Relu (integers since opset 14), LeakyRelu, ThresholdedRelu,
// HardSigmoid, Shrink.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/pointwise.h"

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

void add(OpRegistry& registry, const char* name, std::vector<AttributeSpec> attributes,
         void (*reference)(ReferenceContext&)) {
  attributes.push_back({"consumed_inputs", "INTS"});
  registry.add({.op = name,
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = std::move(attributes),
                .traits = kPointwise,
                .infer = [](InferContext& context) { context.set_type(0, context.type(0)); },
                .reference = reference});
}

}  // namespace

void register_piecewise_linear(OpRegistry& registry) {
  registry.add({.op = "Relu",
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = {{"consumed_inputs", "INTS"}},
                .traits = kPointwise,
                .infer = infer_relu,
                .reference = relu});
  add(registry, "LeakyRelu", {{"alpha", "FLOAT"}}, leaky_relu);
  add(registry, "ThresholdedRelu", {{"alpha", "FLOAT"}}, thresholded_relu);
  add(registry, "HardSigmoid", {{"alpha", "FLOAT"}, {"beta", "FLOAT"}}, hard_sigmoid);
  add(registry, "Shrink", {{"bias", "FLOAT"}, {"lambd", "FLOAT"}}, shrink);
}

}  // namespace vernier::ops
