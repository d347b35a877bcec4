#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier::ops {

namespace {

using Inputs = std::vector<const Tensor*>;

constexpr size_t kRoi = 1, kSizes = 3;

const Tensor* input(const Inputs& inputs, size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

template <class Value>
Value lookup(const std::string& attribute, const std::string& name,
             const std::vector<std::pair<std::string_view, Value>>& names) {
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  throw bad_input("{} is '{}'", attribute, name);
}

ResampleRule rule_of(const Node& node) {
  ResampleRule rule;
  rule.interpolation = interpolation_of(node.attribute<std::string>("mode", "nearest"));
  if (node.version < 11) return rule;
  rule.coordinates =
      lookup<CoordinateMode>("coordinate_transformation_mode",
                             node.attribute<std::string>("coordinate_transformation_mode", "half_pixel"),
                             {{"half_pixel", CoordinateMode::kHalfPixel},
                              {"half_pixel_symmetric", CoordinateMode::kHalfPixelSymmetric},
                              {"pytorch_half_pixel", CoordinateMode::kPytorchHalfPixel},
                              {"align_corners", CoordinateMode::kAlignCorners},
                              {"asymmetric", CoordinateMode::kAsymmetric},
                              {"tf_half_pixel_for_nn", CoordinateMode::kTfHalfPixelForNn},
                              {"tf_crop_and_resize", CoordinateMode::kTfCropAndResize}});
  rule.nearest =
      lookup<NearestMode>("nearest_mode", node.attribute<std::string>("nearest_mode", "round_prefer_floor"),
                          {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                           {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                           {"floor", NearestMode::kFloor},
                           {"ceil", NearestMode::kCeil}});
  rule.cubic_coefficient = static_cast<double>(node.attribute<float>("cubic_coeff_a", -0.75F));
  rule.exclude_outside = node.attribute<int64_t>("exclude_outside", 0) != 0;
  rule.antialias = node.attribute<int64_t>("antialias", 0) != 0;
  rule.extrapolation_value = static_cast<double>(node.attribute<float>("extrapolation_value", 0));
  return rule;
}

// Sets the ratio of every axis of which one is known.
void set_ratios(const Node& node, const Inputs& inputs, std::vector<ResampleAxis>& axes) {
  if (const Tensor* given = input(inputs, kSizes);
      node.version >= 11 && given != nullptr && given->size() > 0) {
    std::vector<int64_t> lengths;
    for (ResampleAxis& axis : axes) {
      lengths.push_back(axis.input);
      axis.ratio = {std::max<int64_t>(1, axis.output), std::max<int64_t>(1, axis.input)};
    }
    if (!keeps_aspect(node)) return;
    const Ratio common = common_ratio(node, lengths, given->to_ints());
    for (ResampleAxis& axis : axes) axis.ratio = common;
  } else {
    const Tensor* scales = input(inputs, node.version >= 11 ? 2 : 1);
    if (scales == nullptr) throw bad_input("neither scales nor sizes are given");
    const auto values = scales->to_doubles();
    for (size_t i = 0; i < axes.size(); ++i) axes[i].ratio = ratio_of(values.at(i));
  }
}

void set_regions(const Inputs& inputs, std::vector<ResampleAxis>& axes) {
  const Tensor* given = input(inputs, kRoi);
  if (given == nullptr || given->size() != static_cast<int64_t>(2 * axes.size())) {
    throw bad_input("tf_crop_and_resize needs a region of {} numbers", 2 * axes.size());
  }
  const auto region = given->to_doubles();
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_start = region[i];
    axes[i].roi_end = region[i + axes.size()];
    if (!std::isfinite(axes[i].roi_start) || !std::isfinite(axes[i].roi_end))
      throw bad_input("a region that is not finite");
  }
}

}  // namespace

std::vector<int64_t> resized_axes(const Node& node, size_t rank) {
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

std::vector<double> scale_attributes(const Node& node, size_t rank) {
  if (node.version >= 7) {
    const auto scales = node.attribute<std::vector<float>>("scales", {});
    return {scales.begin(), scales.end()};
  }
  std::vector<double> scales(std::max<size_t>(2, rank), 1);
  scales[scales.size() - 2] = node.attribute<float>("height_scale", 1);
  scales[scales.size() - 1] = node.attribute<float>("width_scale", 1);
  return scales;
}

ResizePlan resize_plan(const Node& node, const Inputs& inputs, const Dims& x, const Dims& y) {
  ResizePlan plan{rule_of(node), {}};
  for (const int64_t axis : resized_axes(node, x.size())) {
    const auto at = static_cast<size_t>(axis);
    plan.axes.push_back({.axis = at, .input = x[at], .output = y[at], .ratio = {}});
  }
  set_ratios(node, inputs, plan.axes);
  if (plan.rule.coordinates == CoordinateMode::kTfCropAndResize) set_regions(inputs, plan.axes);
  // An axis that neither scales nor crops is left alone, whatever the mode.
  std::erase_if(plan.axes, [](const ResampleAxis& axis) {
    return axis.ratio.is_one() && axis.input == axis.output && axis.roi_start == 0 && axis.roi_end == 1;
  });
  return plan;
}

ResizePlan upsample_plan(const Node& node, const Inputs& inputs, const Dims& x, const Dims& y) {
  const Tensor* given = node.version >= 9 ? input(inputs, 1) : nullptr;
  const auto scales = given != nullptr ? given->to_doubles() : scale_attributes(node, x.size());
  ResizePlan plan;
  plan.rule.interpolation = interpolation_of(node.attribute<std::string>("mode", "nearest"));
  for (size_t i = 0; i < x.size(); ++i) {
    const Ratio ratio = ratio_of(scales.at(i));
    if (!ratio.is_one()) plan.axes.push_back({.axis = i, .input = x[i], .output = y[i], .ratio = ratio});
  }
  return plan;
}

}  // namespace vernier::ops
