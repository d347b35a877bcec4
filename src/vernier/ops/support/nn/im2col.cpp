#include "vernier/ops/support/nn/im2col.h"

#include "vernier/base/threads.h"

namespace vernier::ops {

namespace {

constexpr int64_t kGrain = 1 << 14;  // elements

// One tap of one channel.
template <class T>
void fill_row(const T* plane, int64_t tap, const WindowAxes& axes, int64_t first, int64_t count,
              double* row) {
  const WindowAxis& last = axes.back();
  const int64_t tap_row = tap / last.kernel, inner_tap = tap % last.kernel;
  const auto inside = last.windows_inside(inner_tap);
  const int64_t offset = last.at(0, inner_tap);
  for (int64_t done = 0; done < count;) {
    const int64_t begin = (first + done) % last.output;
    const int64_t end = std::min(last.output, begin + count - done);
    const int64_t source = input_row(axes, (first + done) / last.output, tap_row);
    const int64_t from = source < 0 ? end : std::clamp(inside.begin, begin, end);
    const int64_t to = source < 0 ? end : std::clamp(inside.end, from, end);
    double* target = row + done - begin;
    std::fill(target + begin, target + from, 0.0);
    const T* elements = plane + source * last.input + offset;
    if (last.stride == 1) {
      for (int64_t i = from; i < to; ++i) target[i] = static_cast<double>(elements[i]);
    } else {
      for (int64_t i = from; i < to; ++i) target[i] = static_cast<double>(elements[i * last.stride]);
    }
    std::fill(target + to, target + end, 0.0);
    done += end - begin;
  }
}

}  // namespace

template <class T>
void im2col(const T* image, int64_t channels, const WindowAxes& axes, int64_t first, int64_t count,
            double* columns) {
  const int64_t taps = tap_count(axes), plane = input_count(axes);
  parallel_for(channels * taps, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   fill_row(image + row / taps * plane, row % taps, axes, first, count,
                            columns + row * count);
                 }
               });
}

template void im2col(const float*, int64_t, const WindowAxes&, int64_t, int64_t, double*);
template void im2col(const double*, int64_t, const WindowAxes&, int64_t, int64_t, double*);

void col2im(const double* columns, int64_t channels, const WindowAxes& axes, double* image) {
  const WindowAxis& last = axes.back();
  const int64_t taps = tap_count(axes), plane = input_count(axes), windows = output_count(axes);
  if (windows == 0) return;
  const auto add_channel = [&](int64_t channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t inner_tap = tap % last.kernel, offset = last.at(0, inner_tap);
      const auto inside = last.windows_inside(inner_tap);
      const double* row = columns + (channel * taps + tap) * windows;
      for (int64_t output_row = 0; output_row < windows / last.output; ++output_row, row += last.output) {
        const int64_t target = input_row(axes, output_row, tap / last.kernel);
        if (target < 0) continue;
        double* elements = image + channel * plane + target * last.input + offset;
        for (int64_t i = inside.begin; i < inside.end; ++i) elements[i * last.stride] += row[i];
      }
    }
  };
  parallel_for(channels, std::max<int64_t>(1, kGrain / (taps * windows)), [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) add_channel(channel);
  });
}

}  // namespace vernier::ops
