// Windows over images as programs read them: always three axes, those in front of one element.
#pragma once

#include "vernier/backends/cuda/programs/program_source.h"
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

// Whether programs unroll their loops over the taps of a window: there are few.
template <class Parameters>
bool unrolls_taps(const Parameters& parameters) {
  constexpr int64_t kFew = 49;
  return int64_t{parameters.kernel[0]} * parameters.kernel[1] * parameters.kernel[2] <= kFew;
}

// Adds the sides of the window, TAPS0 to TAPS2: numbers where loops over them are unrolled, or what the
// parameters of a program say.
template <class Parameters>
void define_taps(const Parameters& parameters, Definitions& definitions) {
  const bool unrolls = unrolls_taps(parameters);
  for (size_t i = 0; i < std::size(parameters.kernel); ++i)
    definitions.emplace_back(fmt::format("TAPS{}", i),
                             unrolls ? std::to_string(parameters.kernel[i]) : fmt::format("p.kernel[{}]", i));
}

}  // namespace vernier::cuda
