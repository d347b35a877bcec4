#include "vernier/backends/cpu/kernels/depthwise_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/depthwise_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

constexpr int64_t kOutputs = 4;  // at a time: neighbours read the same pixels

// A vector of channels.
struct Whole {
  int64_t first;

  HWY_INLINE Vec load(const float* from) const { return hn::LoadU(Floats(), from + first); }
  HWY_INLINE void store(Vec sums, float* to) const { hn::StoreU(sums, Floats(), to + first); }
};

// The last ones of a line, fewer than a vector.
struct Partial {
  int64_t first;
  size_t count;

  HWY_INLINE Vec load(const float* from) const { return load_some(from + first, count); }
  HWY_INLINE void store(Vec sums, float* to) const { store_some(sums, count, to + first); }
};

// One output, of any window; taps outside of the line are left out.
template <class Channels>
HWY_INLINE void any_output(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums = channels.load(p.start);
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    for (int64_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t column = x * p.stride + kx * p.dilation - p.pad;
      if (column < 0 || column >= p.input_width) continue;
      const float* pixel = p.input + ky * p.line_dilation * p.line + column * p.pixel;
      const float* weights = p.weights + (ky * p.kernel_width + kx) * p.all_channels;
      sums = hn::MulAdd(channels.load(pixel), channels.load(weights), sums);
    }
  }
  channels.store(sums, p.output + x * p.all_channels);
}

// kOutputs outputs from x on, all of whose taps are inside. Sums are taken in the same order as above.
template <int64_t kWidth, int64_t kStride, class Channels>
HWY_INLINE void inner_outputs(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums[kOutputs];
  for (Vec& sum : sums) sum = channels.load(p.start);
  const float* first = p.input + (x * kStride - p.pad) * p.pixel;
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    const float* line = first + ky * p.line_dilation * p.line;
    const float* weights = p.weights + ky * kWidth * p.all_channels;
    Vec taps[kWidth];
    for (int64_t kx = 0; kx < kWidth; ++kx) taps[kx] = channels.load(weights + kx * p.all_channels);
    for (int64_t column = 0; column < (kOutputs - 1) * kStride + kWidth; ++column) {
      const Vec pixel = channels.load(line + column * p.pixel);
      for (int64_t i = 0; i < kOutputs; ++i) {
        const int64_t kx = column - i * kStride;
        if (kx >= 0 && kx < kWidth) sums[i] = hn::MulAdd(pixel, taps[kx], sums[i]);
      }
    }
  }
  for (int64_t i = 0; i < kOutputs; ++i) channels.store(sums[i], p.output + (x + i) * p.all_channels);
}

// body(channels) for all vectors of channels.
template <class Body>
HWY_INLINE void for_each_channels(const DepthwiseLine& p, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t first = 0;
  for (; first + lanes <= p.channels; first += lanes) body(Whole{first});
  if (first < p.channels) body(Partial{first, static_cast<size_t>(p.channels - first)});
}

template <int64_t kWidth, int64_t kStride>
void line_of(const DepthwiseLine& p) {
  // The outputs whose taps are all inside.
  const int64_t begin = std::min(p.output_width, (p.pad + kStride - 1) / kStride);
  const int64_t reach = p.input_width + p.pad - kWidth;
  const int64_t end = std::clamp(reach < 0 ? 0 : reach / kStride + 1, begin, p.output_width);
  // All channels of neighbouring outputs before the next: memory is read in order.
  int64_t x = 0;
  const auto one = [&](const auto& channels) HWY_ATTR { any_output(p, channels, x); };
  const auto some = [&](const auto& channels) HWY_ATTR { inner_outputs<kWidth, kStride>(p, channels, x); };
  for (; x < begin; ++x) for_each_channels(p, one);
  for (; x + kOutputs <= end; x += kOutputs) for_each_channels(p, some);
  for (; x < p.output_width; ++x) for_each_channels(p, one);
}

void any_line(const DepthwiseLine& p) {
  int64_t x = 0;
  const auto one = [&](const auto& channels) HWY_ATTR { any_output(p, channels, x); };
  for (; x < p.output_width; ++x) for_each_channels(p, one);
}

}  // namespace

void depthwise_line_here(const DepthwiseLine& p) {
  if (p.dilation == 1 && p.stride <= 2) {
    const bool one = p.stride == 1;
    switch (p.kernel_width) {
      case 3: return one ? line_of<3, 1>(p) : line_of<3, 2>(p);
      case 5: return one ? line_of<5, 1>(p) : line_of<5, 2>(p);
      case 7: return one ? line_of<7, 1>(p) : line_of<7, 2>(p);
      default: break;
    }
  }
  any_line(p);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(depthwise_line_here);

void depthwise_line(const DepthwiseLine& line) {
  HWY_DYNAMIC_DISPATCH(depthwise_line_here)(line);
}

}  // namespace vernier::cpu
#endif
