// com.microsoft QLinearSigmoid, QLinearLeakyRelu: an activation of a quantized tensor, Y =
// quantize(f(dequantize(X))).
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

template <class F>
void activate(ReferenceContext& context, F f) {
  auto values = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  for (double& value : values) value = f(value);
  store_quantized(context, 0, context.dims(kX), std::move(values), affine_of(context, kYScale, kYZeroPoint));
}

void sigmoid_reference(ReferenceContext& context) {
  activate(context, sigmoid);
}

void leaky_relu_reference(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  activate(context, [alpha](double x) { return leaky_relu(x, alpha); });
}

// Follows no content: the output is of another scale.
void infer_qlinear_activation(InferContext& context) {
  context.set_output(0, context.element(kX), context.shape(kX));
}

}  // namespace

void register_qlinear_activation(OpRegistry& registry) {
  OpDef def{
      .domain = "com.microsoft",
      .op = "QLinearSigmoid",
      .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
      .optional_inputs = 1,
      .traits = kPointwise,
      .infer = infer_qlinear_activation,
      .reference = sigmoid_reference};
  registry.add(def);
  def.op = "QLinearLeakyRelu";
  def.attributes = {{"alpha", "FLOAT"}};
  def.reference = leaky_relu_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
