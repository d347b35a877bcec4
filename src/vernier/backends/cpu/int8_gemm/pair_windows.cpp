#include <algorithm>

#include "vernier/backends/cpu/int8_gemm/pair_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/int8_gemm/pair_windows.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/int8_gemm/pair_vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// The taps of a window along the last axis, of which those that follow each other lie so in memory, too,
// where nothing dilates and there is one group.
HWY_INLINE int16_t* widen_taps(const PairWindows& w, const Int8Source& source, const uint8_t* line, int64_t x,
                               int16_t* to) {
  const ops::WindowAxis& axis = w.axes[2];
  const auto zeros = [&](int64_t taps) {
    std::fill_n(to, taps * w.channels, int16_t{0});
    to += taps * w.channels;
  };
  if (line == nullptr) {
    zeros(axis.kernel);
    return to;
  }
  if (axis.dilation == 1 && w.channels == w.pixel_channels) {
    const int64_t at = axis.at(x, 0), begin = std::clamp<int64_t>(-at, 0, axis.kernel),
                  end = std::clamp<int64_t>(axis.input - at, begin, axis.kernel);
    if (begin > 0) zeros(begin);
    upcast(source, line + (at + begin) * w.channels, (end - begin) * w.channels, to);
    to += (end - begin) * w.channels;
    if (end < axis.kernel) zeros(axis.kernel - end);
    return to;
  }
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const int64_t at = axis.at(x, tap);
    if (at < 0 || at >= axis.input) {
      zeros(1);
      continue;
    }
    upcast(source, line + at * w.pixel_channels, w.channels, to);
    to += w.channels;
  }
  return to;
}

}  // namespace

void gather_windows_here(const PairWindows& windows, const Int8Source& images, int64_t channel, int64_t first,
                         int64_t count, int64_t stride, int16_t* to) {
  if (stride == windows.channels && windows.is_matrix())
    return upcast(images, images.from + first * stride, count * stride, to);
  const auto& [z, y, x] = windows.axes;
  const int64_t line = x.input * windows.pixel_channels;
  WindowPlace place(windows, first);
  for (int64_t i = 0; i < count; ++i, to += stride, place.advance()) {
    const auto& [oz, oy, ox] = place.at;
    int16_t* at = to;
    for (int64_t kz = 0; kz < z.kernel; ++kz) {
      for (int64_t ky = 0; ky < y.kernel; ++ky) {
        const int64_t iz = z.at(oz, kz), iy = y.at(oy, ky);
        const bool inside = iz >= 0 && iz < z.input && iy >= 0 && iy < y.input;
        const uint8_t* from =
            inside ? images.from + ((place.image * z.input + iz) * y.input + iy) * line + channel : nullptr;
        at = widen_taps(windows, images, from, ox, at);
      }
    }
  }
}

void widen_line_here(const PairLine& line, const Int8Source& images, int16_t* to) {
  std::fill_n(to, line.before, int16_t{0});
  upcast(images, line.from, line.count, to + line.before);
  std::fill_n(to + line.before + line.count, line.after, int16_t{0});
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(gather_windows_here);
HWY_EXPORT(widen_line_here);

PairWindows PairWindows::of_matrix(int64_t rows, int64_t depth) {
  PairWindows windows;
  windows.axes[2].input = windows.axes[2].output = rows;
  windows.channels = windows.pixel_channels = depth;
  return windows;
}

PairWindows PairWindows::of_convolution(const ops::Convolution& convolution) {
  PairWindows windows;
  std::copy_backward(convolution.axes.begin(), convolution.axes.end(), windows.axes.end());
  windows.images = convolution.batch;
  windows.channels = convolution.in_channels;
  windows.pixel_channels = convolution.in_channels * convolution.groups;
  return windows;
}

void gather_windows(const PairWindows& windows, const Int8Source& images, int64_t channel, int64_t first,
                    int64_t count, int64_t stride, int16_t* to) {
  HWY_DYNAMIC_DISPATCH(gather_windows_here)(windows, images, channel, first, count, stride, to);
}

bool PairWindows::is_matrix() const {
  const auto is_whole = [](const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.output == axis.input;
  };
  return channels == pixel_channels && std::all_of(axes.begin(), axes.end(), is_whole);
}

void widen_line(const PairLine& line, const Int8Source& images, int16_t* to) {
  HWY_DYNAMIC_DISPATCH(widen_line_here)(line, images, to);
}

}  // namespace vernier::cpu
#endif
