// Depthwise convolutions of channels-last images of bfloat16, by windows of 3 or 5 columns: sums stay in
// registers until they are rounded. 32 channels at a time, those of even and of odd numbers in a vector each,
// for a vector of pixels is widened so by one instruction for either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/backends/cpu/kernels/row_end.h"

namespace vernier::cpu {

inline constexpr int64_t kDepthwiseChannels = 32;  // a block of them

// Whether depthwise_bf16_line() does such lines on this processor.
bool has_depthwise_bf16(int64_t kernel_width, int64_t stride, int64_t dilation);

// Rows of numbers for each channel, block by block: its rows, of each the even channels and then the odd
// ones.
std::vector<float> depthwise_blocks(std::span<const float> rows, int64_t channels);

// One line of outputs, of one block of channels.
struct DepthwiseBf16Line {
  const uint16_t* input;  // the line that tap 0 reads, at column 0 and the first channel
  int64_t line, pixel;    // elements from a line, and a pixel, of the input to the next
  int64_t input_width;
  const float *weights, *start;           // of the block
  int64_t first_tap_line, last_tap_line;  // those inside the image
  int64_t kernel_width, stride, pad;
  int64_t outputs;
  uint16_t* output;
  int64_t channels;  // of the block; `pixel` elements of the output are one, too
  RowEnd end;
};
void depthwise_bf16_line(const DepthwiseBf16Line& line);

}  // namespace vernier::cpu
