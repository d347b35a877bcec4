// Windows of images of few channels as rows of tiles: neighbours in a line of a window are neighbours in
// memory, so a row of a tile holds whole lines of a window instead of a few channels of one pixel. Of
// bfloat16.
#pragma once

#include <optional>

#include "vernier/backends/cpu/gemm/packed_tiles.h"

namespace vernier::cpu {

class TileWindows {
 public:
  // Nothing for more channels than that, of which tiles hold enough, and for lines that fill no row.
  static std::optional<TileWindows> of(const ops::Convolution& convolution);

  int64_t depth() const { return chunks_ * kChunk; }  // of a window, filled up with zeros
  // The rows of `lines` lines of outputs: chunk c of output p lies at to + c * chunk + p * 32.
  void fill(const uint16_t* image, int64_t first_line, int64_t lines, uint16_t* to, int64_t chunk) const;
  // Weights [columns, channels, kernel…] as [columns, depth()].
  Tensor rearranged(const Tensor& weights) const;

 private:
  TileWindows() = default;
  int64_t line() const { return x_.kernel * channels_; }  // elements of a line of a window
  int64_t chunk_lines() const { return kChunk / line(); }
  void fill_line(const uint16_t* image, int64_t line, int64_t first, int64_t last, uint16_t* to) const;

  ops::WindowAxis y_, x_;
  int64_t channels_ = 0, chunks_ = 0;
};

}  // namespace vernier::cpu
