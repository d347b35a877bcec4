// com.microsoft ExpandDims: inserts one axis of size 1, which counts among the axes of the output.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_expand_dims(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto axis = context.ints(1);
  auto shape = context.shape(0);
  if (!shape) return;
  const auto rank = static_cast<int64_t>(shape->size()) + 1;
  if (axis && axis->size() != 1) throw bad_input("the axis must be one number, not {}", axis->size());
  if (axis) {
    shape->insert(shape->begin() + normalize_axis((*axis)[0], rank), 1);
  } else {
    shape->clear();
    for (int64_t i = 0; i < rank; ++i) shape->push_back(context.fresh("expand_dims"));
  }
  context.set_output(0, context.element(0), std::move(shape));
}

void reference_expand_dims(ReferenceContext& context) {
  context.emit(0, context.in(0).reshaped(context.out_dims(0)));
}

}  // namespace

void register_expand_dims(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "ExpandDims",
                .operands = {Role::kData, Role::kAxes},
                .traits = kView,
                .infer = infer_expand_dims,
                .reference = reference_expand_dims});
}

}  // namespace vernier::ops
