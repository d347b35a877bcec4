// Resize by scales or to sizes. Opset 10 knew scales only, and positions without any half pixel; 11 added
// region, sizes and the ways to find positions; 18 axes, antialiasing and aspect ratios; 19
// half_pixel_symmetric. With scales the region of tf_crop_and_resize does not change the output's size, as in
// ONNX's own shape inference.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/resample.h"

namespace vernier::ops {

namespace {

constexpr size_t kRoi = 1, kSizes = 3;

size_t scales_input(int64_t version) {
  return version >= 11 ? 2 : 1;
}

// Opset 11 has to pass an empty tensor for what is not given.
bool is_given(const InferContext& context, size_t input) {
  return context.version() >= 11 && context.has(input) &&
         !(context.shape(input) && *context.shape(input) == Shape{0});
}

std::vector<int64_t> axes_of(const Node& node, size_t rank) {
  auto axes = node.attribute<std::vector<int64_t>>("axes", {});
  if (node.version < 18 || axes.empty()) {
    axes.clear();
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  axes = normalize_axes(axes, static_cast<int64_t>(rank));
  if (std::set(axes.begin(), axes.end()).size() != axes.size()) throw bad_input("an axis is named twice");
  return axes;
}

bool keeps_aspect(const Node& node) {
  return node.attribute<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch";
}

// The one scale of all axes that fits into sizes, or covers them.
Ratio common_ratio(const Node& node, const std::vector<int64_t>& inputs, const std::vector<int64_t>& sizes) {
  const auto policy = node.attribute<std::string>("keep_aspect_ratio_policy", "stretch");
  if (policy != "not_larger" && policy != "not_smaller")
    throw bad_input("keep_aspect_ratio_policy is '{}'", policy);
  std::optional<Ratio> best;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (inputs[i] < 1 || sizes[i] < 1)
      throw bad_input("an axis of {} cannot keep its aspect at {}", inputs[i], sizes[i]);
    const Ratio ratio{sizes[i], inputs[i]};
    if (!best || (policy == "not_larger") == (ratio.value() < best->value())) best = ratio;
  }
  return best.value_or(Ratio());
}

// Rounded, halves up.
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

void infer(InferContext& context) {
  const auto& x = context.shape(0);
  context.set_output(0, context.element(0), std::nullopt);
  if (!x) return;
  const auto axes = axes_of(context.node(), x->size());
  std::vector<Dim> inputs, outputs;
  for (const int64_t axis : axes) inputs.push_back((*x)[static_cast<size_t>(axis)]);
  if (is_given(context, kSizes)) {
    const auto& sizes = context.dims(kSizes);
    if (sizes && sizes->size() != axes.size())
      throw bad_input("{} sizes for {} axes", sizes->size(), axes.size());
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

template <class Value>
Value lookup(const std::string& attribute, const std::string& name,
             const std::vector<std::pair<std::string_view, Value>>& names) {
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  throw bad_input("{} is '{}'", attribute, name);
}

ResampleRule rule_of(const ReferenceContext& context) {
  ResampleRule rule;
  rule.interpolation = interpolation_of(context.attribute<std::string>("mode", "nearest"));
  if (context.version() < 11) return rule;
  rule.coordinates =
      lookup<CoordinateMode>("coordinate_transformation_mode",
                             context.attribute<std::string>("coordinate_transformation_mode", "half_pixel"),
                             {{"half_pixel", CoordinateMode::kHalfPixel},
                              {"half_pixel_symmetric", CoordinateMode::kHalfPixelSymmetric},
                              {"pytorch_half_pixel", CoordinateMode::kPytorchHalfPixel},
                              {"align_corners", CoordinateMode::kAlignCorners},
                              {"asymmetric", CoordinateMode::kAsymmetric},
                              {"tf_half_pixel_for_nn", CoordinateMode::kTfHalfPixelForNn},
                              {"tf_crop_and_resize", CoordinateMode::kTfCropAndResize}});
  rule.nearest = lookup<NearestMode>("nearest_mode",
                                     context.attribute<std::string>("nearest_mode", "round_prefer_floor"),
                                     {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                      {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                      {"floor", NearestMode::kFloor},
                                      {"ceil", NearestMode::kCeil}});
  rule.cubic_coefficient = static_cast<double>(context.attribute<float>("cubic_coeff_a", -0.75F));
  rule.exclude_outside = context.attribute<int64_t>("exclude_outside", 0) != 0;
  rule.antialias = context.attribute<int64_t>("antialias", 0) != 0;
  rule.extrapolation_value = static_cast<double>(context.attribute<float>("extrapolation_value", 0));
  return rule;
}

// Sets the ratio of every axis of which one is known.
void set_ratios(const ReferenceContext& context, std::vector<ResampleAxis>& axes) {
  const size_t scales = scales_input(context.version());
  if (context.version() >= 11 && context.has(kSizes) && context.in(kSizes).size() > 0) {
    std::vector<int64_t> inputs;
    for (ResampleAxis& axis : axes) {
      inputs.push_back(axis.input);
      axis.ratio = {std::max<int64_t>(1, axis.output), std::max<int64_t>(1, axis.input)};
    }
    if (!keeps_aspect(context.node())) return;
    const Ratio common = common_ratio(context.node(), inputs, context.int_list(kSizes));
    for (ResampleAxis& axis : axes) axis.ratio = common;
  } else {
    const auto values = context.reals(scales);
    for (size_t i = 0; i < axes.size(); ++i) axes[i].ratio = ratio_of(values[static_cast<int64_t>(i)]);
  }
}

void set_regions(const ReferenceContext& context, std::vector<ResampleAxis>& axes) {
  if (!context.has(kRoi) || context.in(kRoi).size() != static_cast<int64_t>(2 * axes.size())) {
    throw bad_input("tf_crop_and_resize needs a region of {} numbers", 2 * axes.size());
  }
  const auto region = context.reals(kRoi);
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_start = region[static_cast<int64_t>(i)];
    axes[i].roi_end = region[static_cast<int64_t>(i + axes.size())];
    if (!std::isfinite(axes[i].roi_start) || !std::isfinite(axes[i].roi_end))
      throw bad_input("a region that is not finite");
  }
}

void reference(ReferenceContext& context) {
  const Dims &dims = context.dims(0), out = context.out_dims(0);
  const ResampleRule rule = rule_of(context);
  std::vector<ResampleAxis> axes;
  for (const int64_t axis : axes_of(context.node(), dims.size())) {
    const auto at = static_cast<size_t>(axis);
    axes.push_back({.axis = at, .input = dims[at], .output = out[at], .ratio = {}});
  }
  set_ratios(context, axes);
  if (rule.coordinates == CoordinateMode::kTfCropAndResize) set_regions(context, axes);
  // What neither scales nor crops is left alone, whatever the mode.
  std::erase_if(axes, [](const ResampleAxis& axis) {
    return axis.ratio.is_one() && axis.input == axis.output && axis.roi_start == 0 && axis.roi_end == 1;
  });
  resample(context, rule, axes);
}

}  // namespace

void register_resize(OpRegistry& registry) {
  registry.add({.op = "Resize",
                .min_inputs = 1,
                .max_inputs = 4,
                .attributes = {{"antialias", "INT"},
                               {"axes", "INTS"},
                               {"coordinate_transformation_mode", "STRING"},
                               {"cubic_coeff_a", "FLOAT"},
                               {"exclude_outside", "INT"},
                               {"extrapolation_value", "FLOAT"},
                               {"keep_aspect_ratio_policy", "STRING"},
                               {"mode", "STRING"},
                               {"nearest_mode", "STRING"}},
                .traits = kReduction,
                .infer = infer,
                .reference = reference});
}

}  // namespace vernier::ops
