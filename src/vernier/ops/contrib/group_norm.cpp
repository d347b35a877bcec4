// com.microsoft GroupNorm: normalises groups of channels of images [N, spatial..., C] (channels_last, the
// default) or [N, C, spatial...] by scales and biases of each channel; activation 1 is SiLU. SkipGroupNorm:
// of a sum with another image (or one pixel for each image) and a bias of each channel; the sum is an output,
// too.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/normalise.h"
#include "vernier/ops/support/optional_reals.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kGamma, kBeta, kSkip, kBias };

void infer_group_norm(InferContext& context) {
  const auto& x = context.shape(kX);
  if (x && x->size() < 3) throw bad_input("{} is no image", shape_text(*x));
  for (const size_t output : {0, 1}) context.set_output(output, context.element(kX), x);
}

// The image, plus what is to be added to it, [N, C, spatial...] of sizes `dims`.
std::vector<double> image_sum(const ReferenceContext& context, const Dims& dims, bool last) {
  const auto x = context.reals(kX);
  auto values = last ? to_channels_first(x.span(), context.dims(kX))
                     : std::vector<double>(x.span().begin(), x.span().end());
  if (!context.has(kSkip)) return values;
  const Dims& given = context.dims(kSkip);
  const auto skip = last && given.size() > 2 ? to_channels_first(context.reals(kSkip).span(), given)
                                             : context.in(kSkip).to_doubles();
  const auto bias = optional_reals(context, kBias, dims[1]);
  const int64_t pixels = product(dims, 2, dims.size()), planes = dims[0] * dims[1];
  const auto count = static_cast<int64_t>(skip.size());
  if (count != planes && count != planes * pixels)
    throw bad_input("skip {} does not fit {}", dims_text(given), dims_text(context.dims(kX)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto plane = static_cast<int64_t>(i) / pixels;
    values[i] += skip[count == planes ? static_cast<size_t>(plane) : i] + bias[plane % dims[1]];
  }
  return values;
}

void reference_group_norm(ReferenceContext& context) {
  const bool last = integer_attribute(context.node(), "channels_last") != 0;
  const Dims& given = context.dims(kX);
  const Dims dims = last ? channels_first(given) : given;
  const auto groups = context.attribute<int64_t>("groups", 0);
  if (groups < 1 || dims[1] % groups != 0) throw bad_input("{} channels in {} groups", dims[1], groups);
  const auto gamma = context.reals(kGamma), beta = context.reals(kBeta);
  if (gamma.size() != dims[1] || beta.size() != dims[1])
    throw bad_input("{} scales and {} biases for {} channels", gamma.size(), beta.size(), dims[1]);
  auto values = image_sum(context, dims, last);
  if (context.wants(1)) context.store(1, given, last ? to_channels_last(values, dims) : values);
  // Seen as [N, groups, channels of a group, spatial].
  const Dims parameters{groups, dims[1] / groups, 1};
  normalise_values(values,
                   {.dims = {dims[0], groups, dims[1] / groups, product(dims, 2, dims.size())},
                    .axis = 2,
                    .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                    .scale_dims = parameters,
                    .bias_dims = parameters},
                   gamma.span(), beta.span());
  if (context.attribute<int64_t>("activation", 0) != 0) {
    for (double& value : values) value = silu(value);
  }
  context.store(0, given, last ? to_channels_last(values, dims) : values);
}

}  // namespace

void register_group_norm(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "GroupNorm",
            .operands = {Role::kData, Role::kGain, Role::kBias},
            .attributes = {{"activation", "INT"},
                           {"channels_last", "INT"},
                           {"epsilon", "FLOAT"},
                           {"groups", "INT"}},
            .traits = kNormalisation,
            .precision = PrecisionClass::kNeverLower,
            .infer = infer_group_norm,
            .reference = reference_group_norm};
  registry.add(def);
  def.op = "SkipGroupNorm";
  def.optional_inputs = 1;
  def.operands = {Role::kData, Role::kGain, Role::kBias, Role::kData, Role::kBias};
  def.max_outputs = 2;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
