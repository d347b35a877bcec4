// Depthwise convolution of channels-last images, in float.
#pragma once

#include <cstdint>

#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

// Some outputs of one line.
struct DepthwiseLine {
  ElementType element;  // of the input: float, float16 or bfloat16
  const void* input;    // the line that tap 0 reads, at column 0
  int64_t line, pixel;  // elements from a line, and a pixel, of the input to the next
  int64_t input_width;
  const float* weights;                         // [kernel lines, kernel columns, channels]
  const float* initial;                         // the initial accumulator of each channel
  int64_t first_tap_line, last_tap_line;        // those inside the image
  int64_t kernel_width, stride, dilation, pad;  // of columns
  int64_t line_dilation;
  int64_t first_output, last_output;
  float* sums;            // of first_output
  int64_t sums_stride;    // from an output to the next
  int64_t channels;       // neighbours
  float lowest, highest;  // sums are clamped
  float swish;            // unless this is not 0: a sum s becomes s * sigmoid(swish * s) instead
  bool finite;            // all weights: zeros may stand beyond the image
};
void depthwise_line(const DepthwiseLine& line);

}  // namespace vernier::cpu
