// Upsample: Resize as it was before opset 10, with positions x / scale. Scales were attributes for height and
// width in opset 1, one attribute in 7, an input from 9 on.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier::ops {

namespace {

void infer_upsample(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& x = context.shape(0);
  if (!x) return;
  const Tensor* input = context.version() >= 9 ? context.constant(1) : nullptr;
  Shape result;
  if (context.version() >= 9 && input == nullptr) {
    for (size_t i = 0; i < x->size(); ++i) result.push_back(context.fresh("upsample"));
  } else {
    const auto scales = input != nullptr ? input->to_doubles() : scale_attributes(context.node(), x->size());
    if (scales.size() != x->size()) throw bad_input("{} scales for {}", scales.size(), shape_text(*x));
    for (size_t i = 0; i < scales.size(); ++i) result.push_back(ratio_of(scales[i]).scaled((*x)[i]));
  }
  context.set_output(0, context.element(0), std::move(result));
}

void reference_upsample(ReferenceContext& context) {
  const bool scales = context.version() >= 9;
  const ResizePlan plan = upsample_plan(context.node(), {nullptr, scales ? &context.in(1) : nullptr},
                                        context.dims(0), context.out_dims(0));
  resample(context, plan.rule, plan.axes);
}

}  // namespace

void register_upsample(OpRegistry& registry) {
  registry.add({.op = "Upsample",
                .operands = {Role::kData, Role::kSizes},
                .optional_inputs = 1,
                .attributes = {{"height_scale", "FLOAT"},
                               {"mode", "STRING"},
                               {"scales", "FLOATS"},
                               {"width_scale", "FLOAT"}},
                .traits = kReduction | kInterpolates,
                .precision = PrecisionClass::kUntried,
                .since = {0, 1},
                .infer = infer_upsample,
                .reference = reference_upsample});
}

}  // namespace vernier::ops
