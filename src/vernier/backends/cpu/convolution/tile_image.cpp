#include "vernier/backends/cpu/convolution/tile_image.h"

#include <algorithm>

#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

namespace {

// A block stays in the second cache, with the weights of 32 columns, while all columns are multiplied with
// it. All weights are read again for each block: where they do not fit the cache, few blocks are better.
constexpr int64_t kSmallBlock = 512 * 1024, kLargeBlock = 1600 * 1024, kFewWeights = 512 * 1024;

int64_t rounded_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

TileImage TileImage::of_matrix(int64_t rows, int64_t depth, int64_t columns, const TileFormat& format) {
  TileImage image;
  image.channels_ = depth;
  image.y_.input = image.out_height_ = rows;
  image.format_ = format;
  image.planes_ = {Plane()};
  if (format.terms == 1 && depth % format.row_depth == 0) {
    for (int64_t chunk = 0; chunk < image.chunks(); ++chunk) image.direct_steps_.push_back(chunk * kChunk);
  }
  image.arrange(columns);
  return image;
}

TileImage TileImage::of_convolution(const ops::Convolution& convolution, const TileFormat& format,
                                    uint8_t padding) {
  const ops::WindowAxis one, &x = convolution.axes.back(),
                             &y = convolution.axes.size() == 1 ? one : convolution.axes.front();
  const auto is_plain = [](const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.output == axis.input;
  };
  if (is_plain(x) && is_plain(y))
    return of_matrix(convolution.batch * y.input * x.input, convolution.in_channels, convolution.out_channels,
                     format);
  TileImage image;
  image.set_axes(convolution, format, padding);
  image.add_taps(y, x);
  image.arrange(convolution.out_channels);
  return image;
}

TileImage TileImage::of_windows(const ops::Convolution& convolution, const TileWindows& windows) {
  TileImage image;
  image.set_axes(convolution, kBFloat16Tiles, 0);
  image.image_bytes_ = image.y_.input * image.x_.input * image.channels_ * kBFloat16Tiles.source;
  image.channels_ = windows.depth();
  image.y_ = image.x_ = Axis();  // a matrix has none
  image.windows_ = windows;
  image.planes_ = {Plane()};
  image.arrange(convolution.out_channels);
  return image;
}

TileImage TileImage::of_narrow(const ops::Convolution& convolution, const NarrowImage& narrow,
                               const TileFormat& format, uint8_t padding) {
  TileImage image;
  image.set_axes(convolution, format, padding);
  image.narrow_ = narrow;
  image.line_ = narrow.line();
  image.position_bytes_ = narrow.position();
  image.more_lines_ = narrow.more_lines();
  constexpr int64_t kBlock = 64 * 1024, kHalf = sizeof(uint16_t), kRow = kChunk * kHalf;
  image.block_lines_ =
      std::clamp(kBlock / narrow.line_bytes() - image.more_lines_, int64_t{1}, image.out_height_);
  const int64_t chunks = rounded_up(narrow.depth(), kRow) / kRow;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int64_t i = 0; i <= image.more_lines_; ++i)
      image.steps_.push_back((i * narrow.line_bytes() + chunk * kRow) / kHalf);
  }
  // Blocks of rows reach beyond the last line, and rows of tiles beyond those.
  image.term_ = ((image.block_lines_ + image.more_lines_) * narrow.line_bytes() +
                 kBlockRows * image.position_bytes_ + (chunks + 1) * kRow) /
                kHalf;
  return image;
}

void TileImage::set_axes(const ops::Convolution& convolution, const TileFormat& format, uint8_t padding) {
  const ops::WindowAxis one, &x = convolution.axes.back(),
                             &y = convolution.axes.size() == 1 ? one : convolution.axes.front();
  images_ = convolution.batch;
  channels_ = convolution.in_channels;
  out_height_ = y.output;
  out_width_ = x.output;
  y_ = {y.input, y.stride, y.pad_begin};
  x_ = {x.input, x.stride, x.pad_begin};
  format_ = format;
  padding_ = static_cast<uint16_t>(padding * 0x101U);  // two of them
}

void TileImage::add_taps(const ops::WindowAxis& y, const ops::WindowAxis& x) {
  taps_.clear();
  for (int64_t ky = 0; ky < y.kernel; ++ky) {
    for (int64_t kx = 0; kx < x.kernel; ++kx) {
      const int64_t row = ky * y.dilation, column = kx * x.dilation;
      const Plane plane{row % y.stride, column % x.stride};
      const auto found = std::find(planes_.begin(), planes_.end(), plane);
      taps_.push_back({static_cast<size_t>(found - planes_.begin()), row / y.stride, column / x.stride});
      if (found == planes_.end()) planes_.push_back(plane);
    }
  }
}

void TileImage::arrange(int64_t columns) {
  line_ = out_width_;
  for (const Tap& tap : taps_) {
    line_ = std::max(line_, out_width_ + tap.positions);
    more_lines_ = std::max(more_lines_, tap.lines);
  }
  const int64_t position_bytes = kChunk * format_.terms * static_cast<int64_t>(sizeof(uint16_t));
  const auto planes = static_cast<int64_t>(planes_.size()), taps = static_cast<int64_t>(taps_.size());
  const int64_t weights = columns * taps * chunks() * position_bytes;
  const int64_t most =
      (weights > kFewWeights ? kLargeBlock : kSmallBlock) / (planes * chunks() * line_ * position_bytes);
  const int64_t unit = line_ == 1 ? kBlockRows : 1;
  block_lines_ = std::max(unit, (most - more_lines_) / unit * unit);
  // Blocks of about the same size.
  const int64_t blocks = (out_height_ + block_lines_ - 1) / block_lines_;
  block_lines_ = std::min(out_height_, rounded_up((out_height_ + blocks - 1) / blocks, unit));
  // Blocks of rows reach beyond the last line, and taps beyond those.
  chunk_ = is_direct() ? kBlockRows * kChunk
                       : ((block_lines_ + more_lines_) * line_ + kBlockRows + line_) * kChunk;
  term_ = planes * chunks() * chunk_;
  for (int64_t chunk = 0; chunk < chunks(); ++chunk) {
    for (const Tap& tap : taps_)
      steps_.push_back((static_cast<int64_t>(tap.plane) * chunks() + chunk) * chunk_ +
                       (tap.lines * line_ + tap.positions) * kChunk);
  }
}

int64_t TileImage::chunks() const {
  return rounded_up(channels_, format_.row_depth) / format_.row_depth;
}

bool TileImage::is_dense() const {
  return planes_.size() == 1 && y_.stride == 1 && x_.stride == 1 && y_.pad == 0 && x_.pad == 0 &&
         line_ == x_.input;
}

// Positions of one line of a plane: `line` counts from the first line of the output.
void TileImage::fill_line(const std::byte* pixels, const Plane& plane, int64_t line, uint16_t* to) const {
  const int64_t row = line * y_.stride + plane.row - y_.pad, column = plane.column - x_.pad;
  const auto pad = [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < format_.terms * chunks(); ++i) {
      uint16_t* at = to + i / chunks() * term_ + i % chunks() * chunk_;
      std::fill(at + begin * kChunk, at + end * kChunk, padding_);
    }
  };
  // The positions whose pixel is in the image.
  int64_t begin = column >= 0 ? 0 : (-column + x_.stride - 1) / x_.stride;
  int64_t end = column >= x_.input ? 0 : (x_.input - 1 - column) / x_.stride + 1;
  begin = std::min(begin, line_);
  end = row < 0 || row >= y_.input ? begin : std::clamp(end, begin, line_);
  pad(0, begin);
  pad(end, line_);
  if (begin == end) return;
  const int64_t first = row * x_.input + column + begin * x_.stride;
  split_pixels({pixels + first * channels_ * format_.source, x_.stride * channels_, end - begin, channels_,
                to + begin * kChunk, chunk_, term_, format_});
}

void TileImage::fill(const void* images, int64_t image, int64_t first, int64_t count, uint16_t* to) const {
  if (windows_) {
    const auto* from = static_cast<const std::byte*>(images) + image * image_bytes_;
    return windows_->fill(reinterpret_cast<const uint16_t*>(from), first, count, to, chunk_);
  }
  const int64_t pixel = channels_ * format_.source, lines = count + more_lines_;
  const auto* pixels = static_cast<const std::byte*>(images) + image * y_.input * x_.input * pixel;
  if (narrow_)
    return narrow_->fill(pixels, first, count, static_cast<uint8_t>(padding_),
                         reinterpret_cast<std::byte*>(to));
  if (is_dense() && first + lines <= y_.input) {
    split_pixels(
        {pixels + first * line_ * pixel, channels_, lines * line_, channels_, to, chunk_, term_, format_});
    return;
  }
  for (size_t i = 0; i < planes_.size(); ++i) {
    uint16_t* plane = to + static_cast<int64_t>(i) * chunks() * chunk_;
    for (int64_t line = 0; line < lines; ++line)
      fill_line(pixels, planes_[i], first + line, plane + line * line_ * kChunk);
  }
}

}  // namespace vernier::cpu
