// Sums of windows of channels-last bytes, channel by channel, by the processor's sums of four products of
// bytes (AVX-512 VNNI), requantised where they are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vernier/backends/cpu/kernels/integer_epilogue.h"

namespace vernier::cpu {

// Channels at a time. In registers they lie as interleaving bytes four by four leaves them (byte_place).
inline constexpr int64_t kByteChannels = 64;
inline constexpr int64_t kQuad = 4;  // lines of the window whose bytes are multiplied at once
inline constexpr int64_t kMostLines = 8, kMostWidth = 7;

bool has_byte_depthwise(int64_t kernel_width, int64_t stride);

// Constants of a block of channels, in the order of registers. Those of up to 32 channels come twice: as
// channels 32 and on, too.
struct ByteDepthwiseWeights {
  const int8_t* taps;  // [quads, kernel columns, channels, lines of a quad]
  const int32_t* starts;
  const float *scales, *offsets;
};

// The place of the i-th channel of a block among the numbers of the four registers.
constexpr int64_t byte_place(int64_t channel) {
  const int64_t lane = channel / 16, vector = channel % 16 / 4;
  return vector * 16 + lane * 4 + channel % 4;
}

struct ByteDepthwiseLine {
  // The lines that the window meets, each from its first pixel on, of the first channel, and the bytes from
  // a pixel to the next: 0 where a line beyond the image is one pixel of padding.
  std::array<const uint8_t*, kMostLines> lines;
  std::array<int64_t, kMostLines> steps;
  int64_t quads, kernel_height, input_width;
  uint8_t padding;                    // what stands for 0 beyond the image
  bool is_signed;                     // of the input
  int64_t kernel_width, stride, pad;  // of columns
  ByteDepthwiseWeights weights;
  PlainRequantisation result;
  uint8_t* to;
  int64_t outputs, channels, to_pixel;  // of which up to 64 channels
};
void byte_depthwise_line(const ByteDepthwiseLine& line);

}  // namespace vernier::cpu
