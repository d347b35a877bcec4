// LayerNormalization over the axes from `axis` on, and RMSNormalization, which takes no mean off. stash_type
// is the type of the optional outputs Mean and InvStdDev.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/normalise.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

void infer_layer_normalization(InferContext& context) {
  const auto& x = context.shape(0);
  context.set_output(0, context.element(0), x);
  const int64_t stash = context.attribute<int64_t>("stash_type", 1);
  if (stash <= 0 || stash >= kElementTypeCount || !is_float(static_cast<ElementType>(stash)))
    throw bad_input("stash_type is {}", stash);
  for (size_t parameter : {1, 2}) require_broadcast(context, parameter);
  std::optional<Shape> statistics = x;
  if (x) {
    const int64_t axis =
        normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(x->size()));
    std::fill(statistics->begin() + axis, statistics->end(), Dim(1));
  }
  for (size_t output : {1, 2}) context.set_output(output, static_cast<ElementType>(stash), statistics);
}

template <bool Centred>
void reference_layer_normalization(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t axis =
      normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(dims.size()));
  const auto statistics =
      normalise_rows(context, {.dims = dims,
                               .axis = static_cast<size_t>(axis),
                               .centred = Centred,
                               .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                               .scale_dims = context.dims(1),
                               .bias_dims = context.has(2) ? context.dims(2) : Dims()});
  context.store(1, statistics.mean);
  context.store(2, statistics.inverse_deviation);
}

}  // namespace

void register_layer_normalization(OpRegistry& registry) {
  const std::vector<AttributeSpec> attributes = {
      {"axis", "INT"}, {"epsilon", "FLOAT"}, {"stash_type", "INT"}};
  registry.add({.op = "LayerNormalization",
                .operands = {Role::kData, Role::kGain, Role::kBias},
                .optional_inputs = 1,
                .max_outputs = 3,
                .attributes = attributes,
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {17, 17},
                .infer = infer_layer_normalization,
                .reference = reference_layer_normalization<true>});
  registry.add({.op = "RMSNormalization",
                .operands = {Role::kData, Role::kGain},
                .attributes = attributes,
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {23, 23},
                .infer = infer_layer_normalization,
                .reference = reference_layer_normalization<false>});
}

}  // namespace vernier::ops
