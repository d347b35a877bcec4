#include "vernier/backends/cpu/winograd/winograd_walk.h"

#include <array>

#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {

namespace {

// The pixels of a group are read again for each 32 columns, so they take half of a second cache.
constexpr int64_t kGroupBytes = 400 * 1024;
// This line between them keeps the same element of all positions from falling into one set of the first
// cache.
constexpr int64_t kLine = 64;
constexpr size_t kMostPixels = 36;  // of a tile

int64_t rounded_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

int64_t WinogradShape::column_blocks() const {
  return (convolution.out_channels + kVectorColumns - 1) / kVectorColumns;
}

int64_t WinogradShape::pixel_bytes() const {
  return convolution.in_channels * static_cast<int64_t>(element_size(element));
}

int64_t WinogradShape::block_bytes() const {
  return size.positions() * pixel_bytes() * kVectorColumns;
}

WinogradWalk::WinogradWalk(const WinogradShape& shape)
    : shape_(shape), zeros_(static_cast<size_t>(shape.pixel_bytes())) {
  const int64_t line_bytes = shape.size.positions() * shape.line_tiles() * shape.pixel_bytes();
  group_lines_ = std::clamp(kGroupBytes / line_bytes, int64_t{1}, shape.tile_lines());
  const int64_t tiles = group_lines_ * shape.line_tiles();
  pixels_stride_ = rounded_up(tiles * shape.pixel_bytes(), kLine) + kLine;
  sums_stride_ = tiles * kVectorColumns + kLine / static_cast<int64_t>(sizeof(float));
}

size_t WinogradWalk::scratch_bytes() const {
  const int64_t outputs = shape_.size.outputs * shape_.size.outputs * shape_.line_tiles() * kVectorColumns;
  const int64_t floats = shape_.size.positions() * sums_stride_ + outputs;
  return static_cast<size_t>(shape_.size.positions() * pixels_stride_ +
                             floats * static_cast<int64_t>(sizeof(float)));
}

void WinogradWalk::run(const std::byte* images, const std::byte* weights, const BlockEpilogue& epilogue,
                       const KernelArguments& arguments, std::byte* scratch,
                       const WinogradPartition& partition) const {
  const int64_t tiles = shape_.line_tiles(), positions = shape_.size.positions();
  auto* sums = reinterpret_cast<float*>(scratch + positions * pixels_stride_);
  const Area area{scratch, sums, sums + positions * sums_stride_};
  // Groups of about the same size.
  const int64_t all = partition.last_line - partition.first_line,
                groups = (all + group_lines_ - 1) / group_lines_;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = partition.first_line + all * group / groups,
                  count = partition.first_line + all * (group + 1) / groups - first;
    for (int64_t i = 0; i < count; ++i)
      transform_line(images, first + i, area.pixels + i * tiles * shape_.pixel_bytes());
    for (int64_t block = partition.first_block; block < partition.last_block; ++block) {
      multiply(weights + block * shape_.block_bytes(), count, area);
      for (int64_t i = 0; i < count; ++i)
        finish_line(epilogue, arguments, first + i, block * kVectorColumns,
                    area.sums + i * tiles * kVectorColumns, area.lines);
    }
  }
}

// `to` is that of the first position.
void WinogradWalk::transform_line(const std::byte* images, int64_t line, std::byte* to) const {
  const ops::WindowAxis &y_axis = shape_.y(), &x_axis = shape_.x();
  const int64_t m = shape_.size.outputs, width = shape_.size.pixels(), pixel = shape_.pixel_bytes();
  const std::byte* image = images + line / shape_.image_lines() * y_axis.input * x_axis.input * pixel;
  const int64_t top = line % shape_.image_lines() * m - y_axis.pad_begin;
  std::array<const void*, kMostPixels> pixels{};
  const auto element = static_cast<int64_t>(element_size(shape_.element));
  for (int64_t tile = 0; tile < shape_.line_tiles(); ++tile, to += pixel) {
    const int64_t left = tile * m - x_axis.pad_begin;
    for (int64_t i = 0; i < width; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < y_axis.input && x >= 0 && x < x_axis.input;
        pixels[static_cast<size_t>(i * width + j)] =
            inside ? image + (y * x_axis.input + x) * pixel : zeros_.data();
      }
    }
    transform_input(shape_.size, shape_.element,
                    {pixels.data(), shape_.convolution.in_channels, to, pixels_stride_ / element});
  }
}

void WinogradWalk::multiply(const std::byte* weights, int64_t lines, const Area& area) const {
  const int64_t rows = lines * shape_.line_tiles(), groups = shape_.pixel_bytes() / kVnniGroupBytes;
  for (int64_t position = 0; position < shape_.size.positions(); ++position)
    multiply_vectors(shape_.element, {area.pixels + position * pixels_stride_, shape_.pixel_bytes(), rows,
                                      groups, weights + position * shape_.pixel_bytes() * kVectorColumns,
                                      area.sums + position * sums_stride_});
}

void WinogradWalk::finish_line(const BlockEpilogue& epilogue, const KernelArguments& arguments, int64_t line,
                               int64_t column, const float* sums, float* lines) const {
  const int64_t m = shape_.size.outputs, stride = m * shape_.line_tiles() * kVectorColumns;
  for (int64_t tile = 0; tile < shape_.line_tiles(); ++tile)
    transform_sums(shape_.size,
                   {sums + tile * kVectorColumns, sums_stride_, lines + tile * m * kVectorColumns, stride});
  const int64_t image = line / shape_.image_lines(), first = line % shape_.image_lines() * m;
  const int64_t columns = std::min(kVectorColumns, shape_.convolution.out_channels - column);
  for (int64_t i = 0; i < std::min(m, shape_.y().output - first); ++i)
    epilogue.finish(arguments, {lines + i * stride, kVectorColumns,
                                (image * shape_.y().output + first + i) * shape_.x().output, column,
                                shape_.x().output, columns});
}

}  // namespace vernier::cpu
