// The walk over a Winograd convolution: a group of lines of tiles is transformed, multiplied with 32 columns
// of each position's weights after the other, transformed back, and finished.
#pragma once

#include <span>
#include <vector>

#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/winograd/winograd_transform.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Sizes of a convolution of channels-last images by 3 by 3 weights, all strides and dilations 1, of one
// group.
struct WinogradShape {
  WinogradSize size;
  ElementType element;  // float or bfloat16, in which pixels and weights are multiplied
  ops::Convolution convolution;

  const ops::WindowAxis& y() const { return convolution.axes[0]; }
  const ops::WindowAxis& x() const { return convolution.axes[1]; }
  int64_t tile_lines() const { return convolution.batch * image_lines(); }  // of all images
  int64_t image_lines() const { return tiles_of(y()); }
  int64_t line_tiles() const { return tiles_of(x()); }
  int64_t column_blocks() const;
  int64_t pixel_bytes() const;
  int64_t block_bytes()
      const;  // of the weights of 32 columns: [positions, VNNI groups, 32 columns, VNNI group]

 private:
  int64_t tiles_of(const ops::WindowAxis& axis) const {
    return (axis.output + size.outputs - 1) / size.outputs;
  }
};

// Lines of tiles, and blocks of 32 columns.
struct WinogradPartition {
  int64_t first_line, last_line, first_block, last_block;
};

class WinogradWalk {
 public:
  explicit WinogradWalk(const WinogradShape& shape);

  size_t scratch_bytes() const;
  void run(const std::byte* images, const std::byte* weights, const BlockEpilogue& epilogue,
           const KernelArguments& arguments, std::byte* scratch, const WinogradPartition& partition) const;

 private:
  // Where a group of lines is worked on.
  struct Area {
    std::byte* pixels;    // [positions, tiles, channels]
    float *sums, *lines;  // [positions, tiles, 32], and m lines of outputs of 32 columns
  };

  void transform_line(const std::byte* images, int64_t line, std::byte* to) const;
  void multiply(const std::byte* weights, int64_t lines, const Area& area) const;
  void finish_line(const BlockEpilogue& epilogue, const KernelArguments& arguments, int64_t line,
                   int64_t column, const float* sums, float* lines) const;

  WinogradShape shape_;
  int64_t group_lines_;                  // at a time
  int64_t pixels_stride_, sums_stride_;  // bytes, and elements, from a position to the next
  std::vector<std::byte> zeros_;         // a pixel beyond the image
};

// Winograd's convolutions with own vectors, for channels-last images; oneDNN has those for blocks of
// channels.

// The tactics: tiles of 2 by 2 and of 4 by 4 outputs.
inline constexpr const char *kWinogradOfTwo = "winograd-2x2", *kWinogradOfFour = "winograd-4x4";

}  // namespace vernier::cpu
