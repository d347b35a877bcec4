// Images of floats, bfloat16 or int8 as rows of tiles.
//
// A convolution is a sum of products, one for each tap of its window. Lines of the output are taken as
// positions one after the other; where strides are 1, the pixels that a tap meets are the same positions,
// shifted, of the image with its padding. So a block of lines is split into terms once, and each tap reads
// it at another offset; at the end of each line are positions that no output belongs to. Strides of more than
// 1 do the same with planes: pixels with equal remainders of their coordinates. A matrix is an image of lines
// of one pixel; one of one term whose rows are whole rows of tiles is read where it lies. Pixels of few
// bytes lie in a way of their own (narrow_image.h), where rows of tiles overlap; beside numbers that may be
// NaN they must not, so images of few channels of bfloat16 are a matrix of windows (tile_windows.h).
#pragma once

#include <cstdint>
#include <vector>

#include "vernier/backends/cpu/convolution/narrow_image.h"
#include "vernier/backends/cpu/convolution/tile_windows.h"

namespace vernier::cpu {

class TileImage {
 public:
  // Rows of `depth` numbers, to be multiplied with so many columns.
  static TileImage of_matrix(int64_t rows, int64_t depth, int64_t columns, const TileFormat& format);
  // Channels-last images of one or two axes, of one group. Around them lies `padding`, a byte; 0 for other
  // numbers.
  static TileImage of_convolution(const ops::Convolution& convolution, const TileFormat& format,
                                  uint8_t padding = 0);
  static TileImage of_narrow(const ops::Convolution& convolution, const NarrowImage& narrow,
                             const TileFormat& format, uint8_t padding);

  // The same of few channels.
  static TileImage of_windows(const ops::Convolution& convolution, const TileWindows& windows);

  int64_t images() const { return images_; }
  int64_t lines() const { return out_height_; }        // of the output, of one image
  int64_t line_outputs() const { return out_width_; }  // pixels of the output
  int64_t line() const { return line_; }               // positions of a line
  int64_t block_lines() const { return block_lines_; }
  const TileFormat& format() const { return format_; }

  int64_t term() const { return term_; }  // elements of the first term of a block
  int64_t block_elements() const { return term_ * format_.terms; }
  // Where the chunks of the depth begin, by chunk and tap; for BlockProduct.
  const std::vector<int64_t>& steps() const { return steps_; }

  // Whether rows can be read where they lie, and the same for them; but for those of the last block of rows,
  // beyond which there may be no memory.
  bool is_direct() const { return !direct_steps_.empty(); }
  int64_t direct_row_bytes() const { return channels_ * format_.source; }
  const std::vector<int64_t>& direct_steps() const { return direct_steps_; }

  // Bytes from a position to the next.
  int64_t position_bytes() const { return position_bytes_; }
  // Splits what output lines [first, first + count) of an image need; count <= block_lines(). Position p
  // begins p * position_bytes() behind `to`, plus a step.
  void fill(const void* images, int64_t image, int64_t first, int64_t count, uint16_t* to) const;

 private:
  struct Axis {
    int64_t input = 1, stride = 1, pad = 0;
  };
  struct Plane {
    int64_t row = 0, column = 0;  // remainders
    bool operator==(const Plane&) const = default;
  };
  // Where a tap reads: in a plane, so many lines and positions farther.
  struct Tap {
    size_t plane = 0;
    int64_t lines = 0, positions = 0;
  };

  void set_axes(const ops::Convolution& convolution, const TileFormat& format, uint8_t padding);
  void add_taps(const ops::WindowAxis& y, const ops::WindowAxis& x);
  void arrange(int64_t columns);  // into blocks
  void fill_line(const std::byte* pixels, const Plane& plane, int64_t line, uint16_t* to) const;
  bool is_dense() const;   // every pixel is a position
  int64_t chunks() const;  // of the depth of a tap

  int64_t images_ = 1, channels_ = 1, out_height_ = 1, out_width_ = 1;
  Axis y_, x_;
  TileFormat format_ = kTwoTermTiles;
  uint16_t padding_ = 0;
  std::optional<TileWindows> windows_;
  int64_t image_bytes_ = 0;  // with windows
  std::vector<Plane> planes_;
  std::vector<Tap> taps_{1};
  int64_t line_ = 1, more_lines_ = 0, block_lines_ = 1, chunk_ = 0, term_ = 0, position_bytes_ = kChunk * 2;
  std::vector<int64_t> steps_, direct_steps_;
  std::optional<NarrowImage> narrow_;
};

}  // namespace vernier::cpu
