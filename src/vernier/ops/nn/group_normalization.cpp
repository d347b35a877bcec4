// GroupNormalization over groups of channels of one image, and InstanceNormalization, whose groups are single
// channels. Scale and bias of GroupNormalization were per group before opset 21 and are per channel since.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/normalise.h"

namespace vernier::ops {

namespace {

void infer_group_normalization(InferContext& context) {
  const auto& x = context.shape(0);
  if (x && x->size() < 2) throw bad_input("a normalisation of channels needs them, not {}", shape_text(*x));
  const bool per_group = context.node().op == "GroupNormalization" && context.node().version < 21;
  for (const size_t input : {1, 2}) {
    if (per_group)
      require_elements(context, input, integer_attribute(context.node(), "num_groups"));
    else if (x)
      require_elements(context, input, (*x)[1]);
  }
  context.set_output(0, context.element(0), x);
}

// x seen as [N, groups, channels of a group, spatial].
void normalise(ReferenceContext& context, int64_t groups, bool per_channel) {
  const Dims& x = context.dims(0);
  if (groups < 1 || x[1] % groups != 0) throw bad_input("{} channels in {} groups", x[1], groups);
  const Dims dims = {x[0], groups, x[1] / groups, product(x, 2, x.size())};
  const Dims parameters = {groups, per_channel ? dims[2] : 1, 1};
  for (size_t input : {1, 2}) {
    if (context.in(input).size() != element_count(parameters)) {
      throw bad_input("input {} has {} elements instead of {}", input, context.in(input).size(),
                      element_count(parameters));
    }
  }
  normalise_rows(context, {.dims = dims,
                           .axis = 2,
                           .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                           .scale_dims = parameters,
                           .bias_dims = parameters});
}

void group(ReferenceContext& context) {
  normalise(context, integer_attribute(context.node(), "num_groups"), context.version() >= 21);
}

void instance(ReferenceContext& context) {
  if (context.dims(0)[1] > 0)
    normalise(context, context.dims(0)[1], true);
  else
    context.allocate(0);
}

}  // namespace

void register_group_normalization(OpRegistry& registry) {
  registry.add({.op = "GroupNormalization",
                .operands = {Role::kData, Role::kGain, Role::kBias},
                .attributes = {{"epsilon", "FLOAT"}, {"num_groups", "INT"}, {"stash_type", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {18, 18},
                .infer = infer_group_normalization,
                .reference = group});
  registry.add({.op = "InstanceNormalization",
                .operands = {Role::kData, Role::kGain, Role::kBias},
                .attributes = {{"consumed_inputs", "INTS"}, {"epsilon", "FLOAT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {22, 1},
                .infer = infer_group_normalization,
                .reference = instance});
}

}  // namespace vernier::ops
