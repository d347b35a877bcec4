// Flatten: a matrix whose rows are the axes before `axis` and whose columns are the rest.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

void infer_flatten(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return context.set_output(0, context.element(0), fresh_shape(context, 2, "flatten"));
  // The axis may be the rank itself: then everything is in the rows.
  const auto rank = static_cast<int64_t>(input->size());
  const int64_t axis = integer_attribute(context.node(), "axis");
  const auto split = input->begin() + (axis == rank ? rank : normalize_axis(axis, rank));
  context.set_output(
      0, context.element(0),
      Shape{element_count(Shape(input->begin(), split)), element_count(Shape(split, input->end()))});
  if (auto content = content_of(context, 0)) context.set_dims(0, std::move(content->elements));
}

void reference_flatten(ReferenceContext& context) {
  context.emit(0, context.in(0).reshaped(context.out_dims(0)));
}

}  // namespace

void register_flatten(OpRegistry& registry) {
  registry.add({.op = "Flatten",
                .operands = {Role::kData},
                .attributes = {{"axis", "INT"}},
                .traits = kView,
                .since = {13, 1},
                .infer = infer_flatten,
                .reference = reference_flatten,
                .flops = no_flops});
}

}  // namespace vernier::ops
