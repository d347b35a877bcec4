// Conv: cross-correlation of x [N, C, spatial...] by w [M, C / group, kernel...]. ConvInteger: the same on
// 8-bit integers, less their zero points, summed in 32 bits.
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/optional_reals.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

void infer_conv(InferContext& context) {
  const auto shape = convolution_shape(context, 0, 1);
  require_channel_bias(context, 2, shape);
  context.set_output(0, context.element(0), shape);
}

void reference_conv(ReferenceContext& context) {
  const Tensor& x = context.in(0);
  const auto convolution = Convolution::of(context.node(), x.dims(), context.dims(1));
  const auto weights = context.factors(1);
  const auto bias = optional_reals(context, 2, convolution.all_out_channels());
  Tensor& y = context.allocate(0);
  const int64_t windows = output_count(convolution.axes);
  const auto store = [&](int64_t image, int64_t channel, int64_t first, std::span<double> sums) {
    for (double& sum : sums) sum += bias[channel];
    y.write_doubles((image * convolution.all_out_channels() + channel) * windows + first, sums);
  };
  if (x.type() == ElementType::kFloat && !context.roundings().operands.is_defined())
    convolve(convolution, x.values<float>().data(), weights.data(), store);
  else
    convolve(convolution, context.factors(0).data(), weights.data(), store);
}

void infer_conv_integer(InferContext& context) {
  context.set_output(0, ElementType::kInt32, convolution_shape(context, 0, 1));
}

void reference_conv_integer(ReferenceContext& context) {
  const auto convolution = Convolution::of(context.node(), context.dims(0), context.dims(1));
  const auto x = subtract_zero_point(context, 0, 2, {});
  const auto weights = subtract_zero_point(context, 1, 3, first_axis_dims(context, 3, 1));
  Tensor& y = context.allocate(0);
  const int64_t windows = output_count(convolution.axes);
  // Sums of 8-bit products are exact in double.
  convolve(convolution, x.data(), weights.data(),
           [&](int64_t image, int64_t channel, int64_t first, std::span<double> sums) {
             y.write_doubles((image * convolution.all_out_channels() + channel) * windows + first, sums);
           });
}

double flops_conv(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  return convolution_flops(inputs[1], outputs[0]);
}

}  // namespace

void register_conv(OpRegistry& registry) {
  registry.add({.op = "Conv",
                .operands = {Role::kData, Role::kWeight, Role::kBias},
                .optional_inputs = 1,
                .attributes = convolution_attributes(),
                .traits = kContraction | kSums | kProducts | kConvolution,
                .precision = PrecisionClass::kAlways,
                .since = {22, 1},
                .output_channels = 0,
                .infer = infer_conv,
                .reference = reference_conv,
                .flops = flops_conv});
  registry.add({.op = "ConvInteger",
                .operands = {Role::kData, Role::kWeight, Role::kZeroPoint, Role::kWeightZeroPoint},
                .optional_inputs = 2,
                .attributes = convolution_attributes(),
                .traits = kContraction | kConvolution,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .output_channels = 0,
                .infer = infer_conv_integer,
                .reference = reference_conv_integer,
                .flops = flops_conv});
}

}  // namespace vernier::ops
