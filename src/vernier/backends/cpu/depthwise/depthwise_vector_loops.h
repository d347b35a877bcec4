// Depthwise convolutions of channels-last images of floats and bfloat16, by windows of 3 or 5 columns, in
// vectors of AVX-512: sums stay in registers until they are stored. 32 channels at a time, two vectors. Of
// bfloat16 they are those of even and of odd numbers, for a vector of pixels is upcast so by one instruction
// for either.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vernier/backends/cpu/epilogue/activation_epilogue.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"
#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

inline constexpr int64_t kDepthwiseChannels = 32;  // a block of them

// Whether depthwise_vector_line() does such lines on this processor.
bool has_depthwise_vectors(int64_t kernel_width, int64_t stride, int64_t dilation);

// Rows of numbers for each channel, block by block: its rows, of each the channels in the order of the two
// vectors of this type.
LineVector depthwise_blocks(ElementType element, std::span<const float> rows, int64_t channels);

// One line of outputs, of one block of channels.
struct DepthwiseVectorLine {
  ElementType element;  // kFloat or kBFloat16, of input and output
  const void* input;    // the line that tap 0 reads, at column 0 and the first channel
  int64_t line, pixel;  // elements from a line, and a pixel, of the input to the next
  int64_t input_width;
  const float *weights, *initial;         // of the block
  int64_t first_tap_line, last_tap_line;  // those inside the image
  int64_t kernel_width, stride, pad;
  int64_t outputs;
  void* output;
  int64_t output_pixel;    // as of the input
  int64_t channels;        // of the block
  ActivationEpilogue end;  // its gate: none or kSwish, of floats within a few ulp
  // Where lines lie in a ring, those of taps from this one on lie `ring` elements before where they would be.
  int64_t ring_start = std::numeric_limits<int64_t>::max(), ring = 0;
};
void depthwise_vector_line(const DepthwiseVectorLine& line);

}  // namespace vernier::cpu
