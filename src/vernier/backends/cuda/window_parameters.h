// Windows over images as programs read them: always three axes, those in front of one element.
#pragma once

#include "vernier/ops/support/nn/window.h"

namespace vernier::cuda {

// Sets sizes, strides, dilations and pads of PoolParameters or ConvolutionParameters. There are one to three
// axes.
template <class Parameters>
void set_window(const ops::WindowAxes& axes, Parameters& parameters) {
  constexpr size_t kAxes = 3;
  for (size_t i = 0; i < kAxes; ++i) {
    const bool given = i + axes.size() >= kAxes;
    const ops::WindowAxis axis = given ? axes[i + axes.size() - kAxes] : ops::WindowAxis{};
    parameters.input[i] = static_cast<int>(axis.input);
    parameters.output[i] = static_cast<int>(axis.output);
    parameters.kernel[i] = static_cast<int>(axis.kernel);
    parameters.strides[i] = static_cast<int>(axis.stride);
    parameters.dilations[i] = static_cast<int>(axis.dilation);
    parameters.pads[i] = static_cast<int>(axis.pad_begin);
    if constexpr (requires { parameters.pads_end; }) parameters.pads_end[i] = static_cast<int>(axis.pad_end);
  }
}

}  // namespace vernier::cuda
