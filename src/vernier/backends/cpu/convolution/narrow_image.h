// Convolutions of images of up to four bytes a pixel, such as pictures, on tiles: a row of a tile holds not
// the channels of one tap, but lines of the window.
//
// Pixels are filled up to four bytes, and as many lines as the window moves down by are interleaved, pixel by
// pixel: so windows begin at whole groups of lines, and what a window meets of a group lies in one piece.
// Rows of tiles, which begin where windows do, overlap. What they hold beyond the window meets weights of 0.
#pragma once

#include "vernier/backends/cpu/gemm/packed_tiles.h"

namespace vernier::cpu {

class NarrowImage {
 public:
  static constexpr int64_t kPixel = 4;  // bytes

  // Nothing for images of more channels, and where windows hold too little for it.
  static std::optional<NarrowImage> of(const ops::Convolution& convolution);

  int64_t line() const { return line_; }  // positions of a line of the output, and beyond its end
  int64_t position() const { return x_.stride * group_ * kPixel; }  // bytes from one to the next
  int64_t more_lines() const { return window_groups_ - 1; }
  int64_t line_bytes() const { return line_ * position(); }
  int64_t depth() const { return x_.kernel * group_ * kPixel; }  // bytes of a window in a group

  // The weights [columns, channels, lines, columns of the window], as `order()` has them.
  Tensor arrange(const Tensor& weights) const;
  WeightOrder order() const;

  // Lays out what output lines [first, first + count) of an image need; beyond it lies `padding`.
  void fill(const std::byte* image, int64_t first, int64_t count, uint8_t padding, std::byte* to) const;

 private:
  // The pixels from `first` on; null: a line beyond the image.
  void fill_line(const std::byte* pixels, int64_t first, uint8_t padding, std::byte* to) const;

  int64_t channels_ = 0, columns_ = 0;
  ops::WindowAxis y_, x_;
  int64_t group_ = 1, window_groups_ = 1, line_ = 0;  // lines of a group; groups of a window
};

}  // namespace vernier::cpu
