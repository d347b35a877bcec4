// com.microsoft GroupNorm: normalises groups of channels of images [N, spatial..., C] (channels_last, the
// default) or [N, C, spatial...] by scales and biases of each channel; activation 1 is SiLU.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/activations.h"
#include "vernier/ops/support/channels_last.h"
#include "vernier/ops/support/normalise.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kGamma, kBeta };

void infer(InferContext& context) {
  const auto& x = context.shape(kX);
  if (x && x->size() < 3) throw bad_input("{} is no image", shape_text(*x));
  context.set_output(0, context.element(kX), x);
}

void reference(ReferenceContext& context) {
  const bool last = context.attribute<int64_t>("channels_last", 1) != 0;
  const Dims& given = context.dims(kX);
  const Dims dims = last ? channels_first(given) : given;
  const auto groups = context.attribute<int64_t>("groups", 0);
  if (groups < 1 || dims[1] % groups != 0) throw bad_input("{} channels in {} groups", dims[1], groups);
  const auto gamma = context.reals(kGamma), beta = context.reals(kBeta);
  if (gamma.size() != dims[1] || beta.size() != dims[1])
    throw bad_input("{} scales and {} biases for {} channels", gamma.size(), beta.size(), dims[1]);
  const auto x = context.reals(kX);
  auto values =
      last ? to_channels_first(x.span(), given) : std::vector<double>(x.span().begin(), x.span().end());
  // Seen as [N, groups, channels of a group, spatial].
  const Dims parameters{groups, dims[1] / groups, 1};
  normalise_values(values,
                   {.dims = {dims[0], groups, dims[1] / groups, product(dims, 2, dims.size())},
                    .axis = 2,
                    .epsilon = static_cast<double>(context.attribute<float>("epsilon", 1e-5F)),
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
  registry.add({.domain = "com.microsoft",
                .op = "GroupNorm",
                .min_inputs = 3,
                .max_inputs = 3,
                .attributes = {{"activation", "INT"},
                               {"channels_last", "INT"},
                               {"epsilon", "FLOAT"},
                               {"groups", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .infer = infer,
                .reference = reference});
}

}  // namespace vernier::ops
