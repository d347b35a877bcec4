// Activations that scale their input by a gate computed from it: Gelu (exact or by tanh), Swish, and SwiGLU,
// which is Swish of the first input times the second, of equal sizes.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/nn/activations.h"

namespace vernier::ops {

namespace {

void gelu(ReferenceContext& context) {
  const auto approximate = text_attribute(context.node(), "approximate");
  if (approximate == "tanh") return map_real(context, gelu_tanh);
  if (approximate == "none") return map_real(context, gelu_exact);
  throw bad_input("approximate is '{}', not 'none' or 'tanh'", approximate);
}

void swish(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  map_real(context, [=](double x) { return x * sigmoid(alpha * x); });
}

void infer_swiglu(InferContext& context) {
  require_one_type(context, 0, 2);
  context.set_type(0, context.type(0));
  const auto &gate = context.shape(0), &linear = context.shape(1);
  const auto a = gate ? to_dims(*gate) : std::nullopt, b = linear ? to_dims(*linear) : std::nullopt;
  if (a && b && *a != *b)
    throw bad_input("the sizes {} and {} of SwiGLU's inputs differ", dims_text(*a), dims_text(*b));
}

void swiglu(ReferenceContext& context) {
  const double alpha = context.attribute<float>("alpha", 1);
  const auto out =
      zip<double>(context.reals(0), context.dims(0), context.reals(1), context.dims(1), context.dims(0),
                  [=](double gate, double linear) { return gate * sigmoid(alpha * gate) * linear; });
  context.store(0, context.dims(0), out);
}

void add(OpRegistry& registry, const char* name, AttributeSpec attribute, TypesSince since,
         void (*reference)(ReferenceContext&)) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = {std::move(attribute)},
                .traits = kPointwise | kFunction,
                .since = since,
                .cancels_until = HUGE_VAL,
                .infer = [](InferContext& context) { context.set_type(0, context.type(0)); },
                .reference = reference});
}

}  // namespace

void register_gated_units(OpRegistry& registry) {
  add(registry, "Gelu", {"approximate", "STRING"}, {20, 20}, gelu);
  add(registry, "Swish", {"alpha", "FLOAT"}, {24, 24}, swish);
  registry.add({.op = "SwiGLU",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"alpha", "FLOAT"}},
                .traits = kPointwise | kFunction,
                .since = kNoNarrowFloats,
                .cancels_until = HUGE_VAL,
                .infer = infer_swiglu,
                .reference = swiglu});
}

}  // namespace vernier::ops
