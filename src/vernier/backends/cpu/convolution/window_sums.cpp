#include "vernier/backends/cpu/convolution/window_sums.h"

#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 14;  // additions worth a thread
constexpr size_t kAxes = 3;
constexpr int64_t kFewChannels = 16;  // no vector of them

int32_t sum_few(const uint8_t* from, int64_t count, bool is_signed) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += is_signed ? static_cast<int8_t>(from[i]) : from[i];
  return sum;
}

}  // namespace

WindowSums::WindowSums(const ops::Convolution& convolution)
    : convolution_(convolution), axes_(convolution.axes) {
  axes_.insert(axes_.begin(), kAxes - axes_.size(), ops::WindowAxis());
  for (const auto& axis : axes_) {
    pixels_ *= axis.input;
    windows_ *= axis.output;
  }
}

void WindowSums::run(const uint8_t* images, bool is_signed, int32_t zero_point, int32_t* scratch,
                     int32_t* sums) const {
  sum_pixels(images, is_signed, zero_point, scratch);
  int64_t taps = convolution_.groups;
  for (const auto& axis : axes_) taps *= axis.kernel;
  parallel(convolution_.batch * windows_, std::max<int64_t>(1, kGrain / taps),
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i)
               sum_window(scratch + i / windows_ * pixels_ * convolution_.groups, i % windows_,
                          sums + i * convolution_.groups);
           });
}

void WindowSums::sum_pixels(const uint8_t* images, bool is_signed, int32_t zero_point, int32_t* sums) const {
  const int64_t channels = convolution_.in_channels;
  const int32_t moved = static_cast<int32_t>(channels) * zero_point;
  parallel(scratch_size(), std::max<int64_t>(1, kGrain / channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* pixel = images + i * channels;
      sums[i] = (channels < kFewChannels ? sum_few(pixel, channels, is_signed)
                                         : sum_bytes(pixel, channels, is_signed)) -
                moved;
    }
  });
}

// Where the taps of a window that lie in the image begin and end along one axis.
struct Taps {
  int64_t first, last, start;  // start: the pixel of tap 0

  Taps(const ops::WindowAxis& axis, int64_t window) : start(window * axis.stride - axis.pad_begin) {
    const int64_t behind = axis.input - start;
    first = start >= 0 ? 0 : (axis.dilation - start - 1) / axis.dilation;
    last = behind <= 0 ? 0 : std::min(axis.kernel, (behind + axis.dilation - 1) / axis.dilation);
  }
};

void WindowSums::sum_window(const int32_t* image, int64_t window, int32_t* sums) const {
  const int64_t groups = convolution_.groups;
  const auto &z = axes_[0], &y = axes_[1], &x = axes_[2];
  const Taps zs(z, window / (y.output * x.output)), ys(y, window / x.output % y.output),
      xs(x, window % x.output);
  const int64_t step = x.dilation * groups;
  std::fill_n(sums, groups, 0);
  for (int64_t i = zs.first; i < zs.last; ++i) {
    for (int64_t j = ys.first; j < ys.last; ++j) {
      const int64_t row = (zs.start + i * z.dilation) * y.input + ys.start + j * y.dilation;
      const int32_t* first = image + (row * x.input + xs.start) * groups;
      if (groups == 1) {
        int32_t sum = 0;
        for (int64_t k = xs.first; k < xs.last; ++k) sum += first[k * step];
        sums[0] += sum;
        continue;
      }
      for (int64_t k = xs.first; k < xs.last; ++k) {
        for (int64_t g = 0; g < groups; ++g) sums[g] += first[k * step + g];
      }
    }
  }
}

}  // namespace vernier::cpu
