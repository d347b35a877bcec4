// Depthwise convolutions of floats and bfloat16 that end in one pass, by depthwise_vector_loops.h.
#pragma once

#include "vernier/backends/cpu/convolution/constant_convolution.h"
#include "vernier/backends/cpu/depthwise/depthwise_vector_loops.h"
#include "vernier/backends/cpu/epilogue/row_epilogue.h"

namespace vernier::cpu {

// The weights and the bias of a depthwise convolution.
struct DepthwiseWeights {
  std::vector<float> taps;     // [taps, channels]
  std::vector<float> initial;  // [channels]: the bias
};

// Takes what is known to begin sums with from the epilogue.
DepthwiseWeights depthwise_weights(const ConstantConvolution& convolution, const KernelRequest& request,
                                   RowEpilogue& epilogue);

// Lines of such a convolution.
class DepthwiseLines {
 public:
  // Nothing for types, windows and epilogues that the loops do not serve.
  static std::optional<DepthwiseLines> of(const ConstantConvolution& convolution,
                                          const DepthwiseWeights& weights, const RowEpilogue& epilogue);

  int64_t batch() const { return batch_; }
  int64_t blocks() const { return (channels_ + kDepthwiseChannels - 1) / kDepthwiseChannels; }
  int64_t element_bytes() const { return static_cast<int64_t>(element_size(element_)); }
  int64_t channels() const { return channels_; }
  const ops::WindowAxis& y() const { return y_; }  // one line of one tap, if images have one axis
  const ops::WindowAxis& x() const { return x_; }
  // The line of the image that tap 0 of a line of outputs reads; may be outside.
  int64_t top(int64_t line) const { return line * y_.stride - y_.pad_begin; }

  // Line `line` of an image, a block of channels.
  struct Line {
    const std::byte* input;  // line top(line) of the block, where it is or would be
    int64_t pixel;           // elements from a pixel of the input to the next
    int64_t line, block;
    std::byte* output;  // of all channels
    // In a ring, taps from this one on read lines that lie so many before.
    int64_t ring_start = std::numeric_limits<int64_t>::max(), ring_lines = 0;
  };
  void run(const Line& line) const;

 private:
  DepthwiseLines(const ConstantConvolution& convolution, const DepthwiseWeights& weights,
                 const ActivationEpilogue& end);

  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
  ElementType element_;
  LineVector taps_, initial_;
  ActivationEpilogue end_;
};

// Nothing for what DepthwiseLines does not serve.
std::unique_ptr<Kernel> make_depthwise_vectors(const ConstantConvolution& convolution,
                                               const DepthwiseWeights& weights, const RowEpilogue& epilogue);

}  // namespace vernier::cpu
