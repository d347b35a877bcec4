// QLinearConv: a convolution of quantized images by quantized weights, quantized. Parameters of the weights
// are of the tensor or of each output channel; the bias is of INT32 with the scale of the sums. com.microsoft
// has the operator with images [N, spatial..., C] if channels_last is set.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kW, kWScale, kWZeroPoint, kYScale, kYZeroPoint, kBias };

void infer_channels_first(InferContext& context) {
  // All but the bias are required: a scale that is left out is not 1. This throws where one is missing.
  for (size_t i = 0; i <= kYZeroPoint; ++i) context.info(i);
  context.set_output(0, context.element(kYZeroPoint), convolution_shape(context, kX, kW));
}

bool is_channels_last(const Node& node) {
  return integer_attribute(node, "channels_last") != 0;
}

void infer_qlinear_conv(InferContext& context) {
  if (is_channels_last(context.node()))
    infer_channels_last(context, infer_channels_first);
  else
    infer_channels_first(context);
}

// For each output channel.
std::vector<double> weight_scales(const ReferenceContext& context, int64_t channels) {
  const auto scales = context.reals(kWScale);
  if (scales.size() != 1 && scales.size() != channels)
    throw bad_input("{} scales of weights for {} channels", scales.size(), channels);
  std::vector<double> result(static_cast<size_t>(channels));
  for (int64_t i = 0; i < channels; ++i) result[static_cast<size_t>(i)] = scales[scales.size() == 1 ? 0 : i];
  return result;
}

void reference_qlinear_conv(ReferenceContext& context) {
  const bool last = is_channels_last(context.node());
  auto x = subtract_zero_point(context, kX, kXZeroPoint, {});
  if (last) x = to_channels_first(x, context.dims(kX));
  const auto weights =
      subtract_zero_point(context, kW, kWZeroPoint, first_axis_dims(context, kWZeroPoint, kW));
  const auto convolution = Convolution::of(
      context.node(), last ? channels_first(context.dims(kX)) : context.dims(kX), context.dims(kW));
  const int64_t channels = convolution.all_out_channels(), windows = output_count(convolution.axes);
  const auto scales = weight_scales(context, channels);
  const double x_scale = context.real(kXScale, 1);

  const Dims dims = context.out_dims(0), first_dims = last ? channels_first(dims) : dims;
  auto y = convolve_with_bias(context, convolution, x.data(), weights.data(), kBias);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] *= x_scale * scales[i / static_cast<size_t>(windows) % static_cast<size_t>(channels)];
  if (last) y = to_channels_last(y, first_dims);
  store_quantized(context, 0, dims, std::move(y), affine_of(context, kYScale, kYZeroPoint));
}

double flops_qlinear_conv(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  return inputs.size() <= kW || outputs.empty() ? 0 : convolution_flops(inputs[kW], outputs[0]);
}

}  // namespace

void register_qlinear_conv(OpRegistry& registry) {
  OpDef def{.op = "QLinearConv",
            .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kWeight, Role::kWeightScale,
                         Role::kWeightZeroPoint, Role::kResultScale, Role::kResultZeroPoint, Role::kBias},
            .optional_inputs = 1,
            .attributes = convolution_attributes(),
            .traits = kContraction | kConvolution,
            .precision = PrecisionClass::kAlways,
            .since = kNoNarrowFloats,
            .output_channels = 0,
            .infer = infer_qlinear_conv,
            .reference = reference_qlinear_conv,
            .flops = flops_qlinear_conv};
  registry.add(def);
  def.domain = "com.microsoft";
  def.attributes.push_back({"channels_last", "INT"});
  registry.add(std::move(def));
}

}  // namespace vernier::ops
