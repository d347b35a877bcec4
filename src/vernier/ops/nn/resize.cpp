// Resize by scales or to sizes. Opset 10 knew scales only, and positions without any half pixel; 11 added
// region, sizes and the ways to find positions; 18 axes, antialiasing and aspect ratios; 19
// half_pixel_symmetric. With scales the region of tf_crop_and_resize does not change the output's size, as in
// ONNX's own shape inference.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier::ops {

namespace {

constexpr size_t kSizes = 3;

size_t scales_input(int64_t version) {
  return version >= 11 ? 2 : 1;
}

// Opset 11 has to pass an empty tensor for what is not given.
bool is_given(const InferContext& context, size_t input) {
  return context.version() >= 11 && context.has(input) &&
         !(context.shape(input) && *context.shape(input) == Shape{0});
}

// Rounds ties up.
int64_t scaled_size(const Ratio& ratio, int64_t size) {
  return *floordiv(Dim(size) * ratio.numerator * 2 + ratio.denominator, ratio.denominator * 2).constant();
}

std::vector<Dim> sized_axes(const InferContext& context, const std::vector<Dim>& inputs,
                            const std::vector<Dim>& sizes) {
  if (!keeps_aspect(context.node())) return sizes;
  const auto known_inputs = to_dims(inputs), known_sizes = to_dims(sizes);
  std::vector<Dim> result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (known_inputs && known_sizes)
      result.push_back(
          scaled_size(common_ratio(context.node(), *known_inputs, *known_sizes), (*known_inputs)[i]));
    else
      result.push_back(context.fresh("resize"));
  }
  return result;
}

std::vector<Dim> scaled_axes(const InferContext& context, const std::vector<Dim>& inputs) {
  const Tensor* scales = context.constant(scales_input(context.version()));
  std::vector<Dim> result;
  if (scales == nullptr) {
    for (size_t i = 0; i < inputs.size(); ++i) result.push_back(context.fresh("resize"));
    return result;
  }
  const auto values = scales->to_doubles();
  if (values.size() != inputs.size()) throw bad_input("{} scales for {} axes", values.size(), inputs.size());
  for (size_t i = 0; i < values.size(); ++i) result.push_back(ratio_of(values[i]).scaled(inputs[i]));
  return result;
}

void infer_resize(InferContext& context) {
  const auto& x = context.shape(0);
  context.set_output(0, context.element(0), std::nullopt);
  if (!x) return;
  const auto axes = resized_axes(context.node(), x->size());
  std::vector<Dim> inputs, outputs;
  for (const int64_t axis : axes) inputs.push_back((*x)[static_cast<size_t>(axis)]);
  if (is_given(context, kSizes)) {
    const auto count = list_length(context, kSizes);
    if (count && *count != axes.size()) throw bad_input("{} sizes for {} axes", *count, axes.size());
    const auto& sizes = context.dims(kSizes);
    if (sizes)
      outputs = sized_axes(context, inputs, *sizes);
    else
      for (size_t i = 0; i < axes.size(); ++i) outputs.push_back(context.fresh("resize"));
  } else {
    if (!context.has(scales_input(context.version()))) throw bad_input("neither scales nor sizes are given");
    outputs = scaled_axes(context, inputs);
  }
  Shape result = *x;
  for (size_t i = 0; i < axes.size(); ++i) result[static_cast<size_t>(axes[i])] = outputs[i];
  context.set_output(0, context.element(0), std::move(result));
}

void reference_resize(ReferenceContext& context) {
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < context.input_count(); ++i)
    inputs.push_back(context.has(i) ? &context.in(i) : nullptr);
  const ResizePlan plan = resize_plan(context.node(), inputs, context.dims(0), context.out_dims(0));
  resample(context, plan.rule, plan.axes);
}

}  // namespace

void register_resize(OpRegistry& registry) {
  registry.add({.op = "Resize",
                .operands = {Role::kData, Role::kSizes, Role::kSizes, Role::kSizes},
                .optional_inputs = 3,
                .attributes = {{"antialias", "INT"},
                               {"axes", "INTS"},
                               {"coordinate_transformation_mode", "STRING"},
                               {"cubic_coeff_a", "FLOAT"},
                               {"exclude_outside", "INT"},
                               {"extrapolation_value", "FLOAT"},
                               {"keep_aspect_ratio_policy", "STRING"},
                               {"mode", "STRING"},
                               {"nearest_mode", "STRING"}},
                .traits = kReduction | kInterpolates,
                .precision = PrecisionClass::kBounded,
                .since = {13, 10},
                .infer = infer_resize,
                .reference = reference_resize});
}

}  // namespace vernier::ops
