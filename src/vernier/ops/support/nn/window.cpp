#include "vernier/ops/support/nn/window.h"

#include "vernier/ops/attribute_defaults.h"

namespace vernier::ops {

namespace {

// Beyond any size that fits into memory, and small enough that products of two stay within 64 bits.
constexpr int64_t kLargest = int64_t{1} << 31;

AutoPad auto_pad_of(const Node& node) {
  const auto name = text_attribute(node, "auto_pad");
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  if (name == "VALID") return AutoPad::kValid;
  throw bad_input("auto_pad is '{}'", name);
}

std::vector<int64_t> list_attribute(const Node& node, std::string_view name, size_t length,
                                    int64_t fallback) {
  auto values = node.attribute<std::vector<int64_t>>(name, {});
  if (values.empty()) values.assign(length, fallback);
  if (values.size() != length)
    throw bad_input("{} has {} entries, {} are needed", name, values.size(), length);
  for (const int64_t value : values) {
    if (value < fallback || value > kLargest) throw bad_input("{} of {} is out of range", name, value);
  }
  return values;
}

int64_t product_of(const WindowAxes& axes, int64_t WindowAxis::*size) {
  Dims sizes;
  for (const WindowAxis& axis : axes) sizes.push_back(axis.*size);
  return element_count(sizes);
}

}  // namespace

std::vector<AttributeSpec> window_attribute_specs(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> all = {{"auto_pad", "STRING"},
                                    {"dilations", "INTS"},
                                    {"kernel_shape", "INTS"},
                                    {"pads", "INTS"},
                                    {"strides", "INTS"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

WindowAttributes window_attributes(const Node& node, size_t spatial_rank) {
  if (spatial_rank == 0) throw bad_input("an input with spatial axes is needed");
  WindowAttributes result;
  result.strides = list_attribute(node, "strides", spatial_rank, 1);
  result.dilations = list_attribute(node, "dilations", spatial_rank, 1);
  const auto pads = list_attribute(node, "pads", 2 * spatial_rank, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial_rank);
  result.pads_begin.assign(pads.begin(), middle);
  result.pads_end.assign(middle, pads.end());
  result.auto_pad = auto_pad_of(node);
  result.ceil_mode = integer_attribute(node, "ceil_mode") != 0;
  return result;
}

Shape required_kernel_shape(const Node& node, size_t spatial_rank) {
  const auto kernel = node.attribute<std::vector<int64_t>>("kernel_shape", {});
  if (kernel.size() != spatial_rank) {
    throw bad_input("kernel_shape has {} entries, {} are needed", kernel.size(), spatial_rank);
  }
  for (const int64_t size : kernel) {
    if (size < 1 || size > kLargest) throw bad_input("kernel_shape of {} is out of range", size);
  }
  return to_shape(kernel);
}

Dim window_count(const WindowAttributes& window, size_t axis, const Dim& input, const Dim& kernel) {
  const Dim stride = window.strides[axis];
  const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  // ceildiv, written as below so that equal sizes are seen to be equal
  if (same) return floordiv(input - 1, stride) + 1;
  const bool valid = window.auto_pad == AutoPad::kValid;
  const Dim begin = valid ? 0 : window.pads_begin[axis], end = valid ? 0 : window.pads_end[axis];
  const Dim reach = (kernel - 1) * window.dilations[axis] + 1;
  const Dim room = input + begin + end - reach;
  if (room.is_constant() && *room.constant() < 0) {
    if (input == Dim(0)) return 0;
    throw bad_input("a window that spans {} does not fit into {} with padding {} and {}", reach.text(),
                    input.text(), begin.text(), end.text());
  }
  if (!window.ceil_mode || valid) return floordiv(room, stride) + 1;
  // The smaller of ceildiv(room, stride) and of the last start, floordiv(input + begin - 1, stride).
  return floordiv(input + begin - 1 + min(end - reach + stride, 0), stride) + 1;
}

WindowAxes window_axes(const WindowAttributes& window, std::span<const int64_t> input,
                       std::span<const int64_t> kernel) {
  WindowAxes axes;
  for (size_t i = 0; i < input.size(); ++i) {
    WindowAxis axis{
        .input = input[i], .kernel = kernel[i], .stride = window.strides[i], .dilation = window.dilations[i]};
    axis.output = *window_count(window, i, input[i], kernel[i]).constant();
    if (window.auto_pad == AutoPad::kNotSet) {
      axis.pad_begin = window.pads_begin[i];
      axis.pad_end = window.pads_end[i];
    } else if (window.auto_pad != AutoPad::kValid) {
      const int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
      const int64_t total = std::max<int64_t>((axis.output - 1) * axis.stride + reach - axis.input, 0);
      axis.pad_begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    }
    axes.push_back(axis);
  }
  return axes;
}

int64_t input_count(const WindowAxes& axes) {
  return product_of(axes, &WindowAxis::input);
}
int64_t output_count(const WindowAxes& axes) {
  return product_of(axes, &WindowAxis::output);
}
int64_t tap_count(const WindowAxes& axes) {
  return product_of(axes, &WindowAxis::kernel);
}

}  // namespace vernier::ops
