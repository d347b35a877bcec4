// com.microsoft FusedConv: activation(Conv(X, W) + B + Z).
// NhwcConv: Conv of images [N, spatial..., C].
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/nn/fused_epilogue.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kW, kBias, kResidual };

void infer_fused_conv(InferContext& context) {
  const auto shape = convolution_shape(context, kX, kW);
  require_channel_bias(context, kBias, shape);
  context.set_output(0, context.element(kX), shape);
}

void require_residual(const InferContext& context, const Shape& y) {
  const auto& residual = context.shape(kResidual);
  if (!residual) return;
  bool fits = residual->size() <= y.size();
  for (size_t i = 1; fits && i <= residual->size(); ++i) {
    const Dim& size = (*residual)[residual->size() - i];
    fits = size == Dim(1) || size.may_equal(y[y.size() - i]);
  }
  if (!fits) throw bad_input("a residual {} does not broadcast to {}", shape_text(*residual), shape_text(y));
}

void infer_fused(InferContext& context) {
  infer_fused_conv(context);
  const auto& shape = context.outputs()[0].type.tensor.shape;
  if (shape && context.has(kResidual)) require_residual(context, *shape);
}

// Conv(x, W) + B for an x of sizes `dims`, [N, C, spatial...].
std::vector<double> convolved(const ReferenceContext& context, const double* x, const Dims& dims) {
  const auto convolution = Convolution::of(context.node(), dims, context.dims(kW));
  return convolve_with_bias(context, convolution, x, context.factors(kW).data(), kBias);
}

void fused_reference(ReferenceContext& context) {
  const auto x = context.factors(kX);
  auto y = convolved(context, x.data(), context.dims(kX));
  add_bias(context, kResidual, context.out_dims(0), y);
  activate(text_attribute(context.node(), "activation"),
           context.attribute<std::vector<float>>("activation_params", {}), y);
  context.store(0, y);
}

void infer_nhwc(InferContext& context) {
  infer_channels_last(context, infer_fused_conv);
}

void nhwc_reference(ReferenceContext& context) {
  const auto x = to_channels_first(context.factors(kX).span(), context.dims(kX));
  const auto y = convolved(context, x.data(), channels_first(context.dims(kX)));
  context.store(0, to_channels_last(y, channels_first(context.out_dims(0))));
}

double flops_fused_conv(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  return inputs.size() <= kW || outputs.empty() ? 0 : convolution_flops(inputs[kW], outputs[0]);
}

}  // namespace

void register_fused_conv(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "NhwcConv",
            .operands = {Role::kData, Role::kWeight, Role::kBias},
            .optional_inputs = 1,
            .attributes = convolution_attributes(),
            .traits = kContraction | kConvolution,
            .precision = PrecisionClass::kAlways,
            .output_channels = 0,
            .infer = infer_nhwc,
            .reference = nhwc_reference,
            .flops = flops_fused_conv};
  registry.add(def);
  def.op = "FusedConv";
  def.operands.push_back(Role::kData);
  def.optional_inputs = 2;
  def.attributes.insert(def.attributes.end(), {{"activation", "STRING"}, {"activation_params", "FLOATS"}});
  def.infer = infer_fused;
  def.reference = fused_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
