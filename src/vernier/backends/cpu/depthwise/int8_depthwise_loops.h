// Depthwise convolution of channels-last int8 images by AVX-512 VNNI, whose instructions accumulate four int8
// products in an int32. Accumulators are requantized in registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vernier/backends/cpu/epilogue/integer_epilogue.h"

namespace vernier::cpu {

// Channels at a time. In registers they lie as interleaving bytes four by four leaves them (int8_place).
inline constexpr int64_t kInt8Channels = 64;
inline constexpr int64_t kQuad = 4;  // lines of the image that one instruction multiplies
inline constexpr int64_t kMostLines = 8, kMostWidth = 7;

bool has_int8_depthwise(int64_t kernel_width, int64_t stride);

// Lines of outputs that are computed at a time: two where the quads that one of them reads hold the lines of
// the next, too.
int64_t int8_depthwise_rows(int64_t kernel_height, int64_t kernel_width, int64_t stride_of_lines);

// Into how many pieces registers are divided for blocks of so few channels: each has the channels of an
// output of its own.
constexpr int64_t int8_pieces(int64_t channels) {
  return channels <= kInt8Channels / 4 ? 4 : channels <= kInt8Channels / 2 ? 2 : 1;
}

// Constants of blocks of channels, in the order of registers: those of few channels once for each piece.
struct Int8DepthwiseWeights {
  const int8_t* taps;  // [lines of outputs, quads, kernel columns, channels, lines of a quad]
  const int32_t* initial;
  const float *scales, *offsets;
};

// The place of the i-th channel of a block among the numbers of the four registers.
constexpr int64_t int8_place(int64_t channel) {
  const int64_t lane = channel / 16, vector = channel % 16 / 4;
  return vector * 16 + lane * 4 + channel % 4;
}

struct Int8DepthwiseLines {
  // The lines of all quads, each from its first pixel on, of the first channel, and the bytes from a pixel to
  // the next: 0 where a line beyond the image, or the window, is one pixel of padding.
  std::array<const uint8_t*, kMostLines> lines;
  std::array<int64_t, kMostLines> steps;
  int64_t rows;  // lines of outputs
  int64_t quads, input_width;
  uint8_t padding;                    // what stands for 0 beyond the image
  bool is_signed;                     // of the input
  int64_t kernel_width, stride, pad;  // of columns
  Int8DepthwiseWeights weights;       // of the first block
  int64_t to_block;                   // taps from a block to the next
  PlainRequantization result;
  uint8_t* to;
  int64_t to_row, to_pixel;   // bytes to the next line, and pixel, of the output
  int64_t outputs, channels;  // of a line, and of all blocks
};
void int8_depthwise_lines(const Int8DepthwiseLines& lines);

}  // namespace vernier::cpu
