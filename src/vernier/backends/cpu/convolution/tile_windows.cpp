#include "vernier/backends/cpu/convolution/tile_windows.h"

#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

// Masks elements [first, last) of a row of a tile.
__mmask32 places(int64_t first, int64_t last) {
  return static_cast<__mmask32>((uint64_t{1} << last) - (uint64_t{1} << first));
}

// Lines of windows beside each other, as they come into a row of a tile.
struct WindowLine {
  const uint16_t* from;  // what lies at element 0 of the first output
  int64_t place;         // the first element
  __mmask32 whole;       // its elements, where all of them lie in the image
};

struct RowOfWindows {
  std::array<WindowLine, kChunk> lines;
  int64_t count = 0;
};

// The row of an output, from lines of which mask(line) lies in the image.
template <class Mask>
VERNIER_AVX512 inline void fill_row(const RowOfWindows& row, int64_t offset, const Mask& mask, uint16_t* to) {
  __m512i elements = _mm512_setzero_si512();
  for (int64_t i = 0; i < row.count; ++i) {
    const WindowLine& line = row.lines[static_cast<size_t>(i)];
    elements = _mm512_mask_loadu_epi16(elements, mask(line), line.from + offset);
  }
  _mm512_storeu_si512(to, elements);
}

}  // namespace

std::optional<TileWindows> TileWindows::of(const ops::Convolution& convolution) {
  constexpr int64_t kMostChannels = 7;
  TileWindows windows;
  windows.x_ = convolution.axes.back();
  if (convolution.axes.size() > 1) windows.y_ = convolution.axes.front();
  windows.channels_ = convolution.in_channels;
  if (windows.channels_ > kMostChannels || windows.x_.kernel == 1 || windows.x_.dilation != 1 ||
      windows.line() > kChunk)
    return std::nullopt;
  windows.chunks_ = (windows.y_.kernel + windows.chunk_lines() - 1) / windows.chunk_lines();
  return windows;
}

// Lines [first, last) of the windows of a line of outputs, which share rows of a tile.
VERNIER_AVX512 void TileWindows::fill_line(const uint16_t* image, int64_t output, int64_t first, int64_t last,
                                           uint16_t* to) const {
  RowOfWindows row;
  for (int64_t ky = first; ky < last; ++ky) {
    const int64_t y = output * y_.stride + ky * y_.dilation - y_.pad_begin, place = (ky - first) * line();
    if (y < 0 || y >= y_.input) continue;
    row.lines[static_cast<size_t>(row.count++)] = {image + (y * x_.input - x_.pad_begin) * channels_ - place,
                                                   place, places(place, place + line())};
  }
  for (int64_t x = 0; x < x_.output; ++x, to += kChunk) {
    const int64_t left = x * x_.stride - x_.pad_begin, offset = x * x_.stride * channels_;
    if (left >= 0 && left + x_.kernel <= x_.input) {
      fill_row(
          row, offset, [](const WindowLine& each) { return each.whole; }, to);
      continue;
    }
    const int64_t begin = std::clamp<int64_t>(-left, 0, x_.kernel),
                  end = std::clamp(x_.input - left, begin, x_.kernel);
    const auto inside = [&](const WindowLine& each) {
      return places(each.place + begin * channels_, each.place + end * channels_);
    };
    fill_row(row, offset, inside, to);
  }
}

void TileWindows::fill(const uint16_t* image, int64_t first_line, int64_t lines, uint16_t* to,
                       int64_t chunk) const {
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t c = 0; c < chunks_; ++c) {
      const int64_t first = c * chunk_lines();
      fill_line(image, first_line + line, first, std::min(first + chunk_lines(), y_.kernel),
                to + c * chunk + line * x_.output * kChunk);
    }
  }
}

Tensor TileWindows::rearranged(const Tensor& weights) const {
  const int64_t columns = weights.dims()[0];
  Tensor result(weights.type(), {columns, depth()});
  const auto* from = static_cast<const uint16_t*>(weights.raw());
  auto* to = static_cast<uint16_t*>(result.mutable_raw());
  std::fill_n(to, result.size(), uint16_t{0});
  for (int64_t i = 0; i < weights.size(); ++i) {
    const int64_t kx = i % x_.kernel, ky = i / x_.kernel % y_.kernel,
                  channel = i / (x_.kernel * y_.kernel) % channels_, column = i * columns / weights.size();
    const int64_t place =
        ky / chunk_lines() * kChunk + ky % chunk_lines() * line() + kx * channels_ + channel;
    to[column * depth() + place] = from[i];
  }
  return result;
}

}  // namespace vernier::cpu
