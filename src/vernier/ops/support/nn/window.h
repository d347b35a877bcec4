// Sliding windows over the spatial axes of convolutions and pools: sizes, padding and where each tap falls.
#pragma once

#include <algorithm>

#include "vernier/ops/op_def.h"
#include "vernier/tensor/tensor_type.h"

namespace vernier::ops {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// The attributes that all window operators share, one entry per spatial axis.
struct WindowAttributes {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;
};

// Gives the attributes of windows, and `more`.
std::vector<AttributeSpec> window_attribute_specs(std::vector<AttributeSpec> more);

// Throws bad_input for attributes of a wrong length, non-positive strides or dilations, and negative pads.
WindowAttributes window_attributes(const Node& node, size_t spatial_rank);

// The attribute kernel_shape; throws bad_input when it is missing, not of this rank, or not positive.
Shape required_kernel_shape(const Node& node, size_t spatial_rank);

// Number of windows along `axis`. With ceil_mode the last window may end beyond the padding, but must start
// inside the input or the padding before it. Throws bad_input when the window is larger than a (non-empty)
// padded input.
Dim window_count(const WindowAttributes& window, size_t axis, const Dim& input, const Dim& kernel);

// One spatial axis with every size known: tap k of window o lies at o * stride + k * dilation - pad_begin.
struct WindowAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t at(int64_t window, int64_t tap) const { return window * stride + tap * dilation - pad_begin; }
  // The windows [begin, end) whose tap lies inside the input.
  struct Range {
    int64_t begin, end;
  };
  Range windows_inside(int64_t tap) const {
    const int64_t offset = at(0, tap);
    const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t end = offset >= input ? 0 : (input - 1 - offset) / stride + 1;
    return {std::min(begin, output), std::clamp(end, std::min(begin, output), output)};
  }
};
using WindowAxes = std::vector<WindowAxis>;

// Resolves auto_pad and sizes; `input` and `kernel` are the spatial sizes.
WindowAxes window_axes(const WindowAttributes& window, std::span<const int64_t> input,
                       std::span<const int64_t> kernel);

int64_t input_count(const WindowAxes& axes);   // elements of one input plane
int64_t output_count(const WindowAxes& axes);  // windows of one plane
int64_t tap_count(const WindowAxes& axes);     // elements of one window

// Planes are walked by rows along the last axis. Windows of one row share `output_row` (over all axes but the
// last) and taps of one row of the kernel `tap_row`; gives the row of the input that they meet, or -1 where
// it is padding.
inline int64_t input_row(const WindowAxes& axes, int64_t output_row, int64_t tap_row) {
  int64_t row = 0, scale = 1;
  for (size_t i = axes.size() - 1; i-- > 0;) {
    const WindowAxis& axis = axes[i];
    const int64_t at = axis.at(output_row % axis.output, tap_row % axis.kernel);
    if (at < 0 || at >= axis.input) return -1;
    output_row /= axis.output;
    tap_row /= axis.kernel;
    row += at * scale;
    scale *= axis.input;
  }
  return row;
}

}  // namespace vernier::ops
