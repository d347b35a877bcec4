#include "vernier/backends/cpu/kernels/depthwise_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/depthwise_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/storage_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

constexpr int64_t kOutputs = 4;  // at a time: neighbours read the same pixels

// Vectors of channels from `first` on; the last ones of a line are fewer.
template <ElementType kElement, class Vector>
struct Channels {
  int64_t first;
  Vector vector;

  // `from`: elements of the input.
  HWY_INLINE Vec input(const void* from, int64_t offset) const {
    return vector.load(kElement, from, offset + first);
  }
  HWY_INLINE Vec load(const float* from) const { return vector.load(ElementType::kFloat, from, first); }
  HWY_INLINE void store(Vec sums, float* to) const { vector.store(sums, ElementType::kFloat, to, first); }
};

HWY_INLINE float* sums_of(const DepthwiseLine& p, int64_t x) {
  return p.sums + (x - p.first_output) * p.sums_stride;
}

// One output, of any window; taps outside of the line are left out.
template <class Channels>
HWY_INLINE void any_output(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums = channels.load(p.start);
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    for (int64_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t column = x * p.stride + kx * p.dilation - p.pad;
      if (column < 0 || column >= p.input_width) continue;
      const Vec pixel = channels.input(p.input, ky * p.line_dilation * p.line + column * p.pixel);
      const float* weights = p.weights + (ky * p.kernel_width + kx) * p.all_channels;
      sums = hn::MulAdd(pixel, channels.load(weights), sums);
    }
  }
  channels.store(sums, sums_of(p, x));
}

// kOutputs outputs from x on, all of whose taps are inside. Sums are taken in the same order as above.
template <int64_t kWidth, int64_t kStride, class Channels>
HWY_INLINE void inner_outputs(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums[kOutputs];
  for (Vec& sum : sums) sum = channels.load(p.start);
  const int64_t first = (x * kStride - p.pad) * p.pixel;
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    const int64_t line = first + ky * p.line_dilation * p.line;
    const float* weights = p.weights + ky * kWidth * p.all_channels;
    Vec taps[kWidth];
    for (int64_t kx = 0; kx < kWidth; ++kx) taps[kx] = channels.load(weights + kx * p.all_channels);
    for (int64_t column = 0; column < (kOutputs - 1) * kStride + kWidth; ++column) {
      const Vec pixel = channels.input(p.input, line + column * p.pixel);
      for (int64_t i = 0; i < kOutputs; ++i) {
        const int64_t kx = column - i * kStride;
        if (kx >= 0 && kx < kWidth) sums[i] = hn::MulAdd(pixel, taps[kx], sums[i]);
      }
    }
  }
  for (int64_t i = 0; i < kOutputs; ++i) channels.store(sums[i], sums_of(p, x + i));
}

// body(channels) for all vectors of channels.
template <ElementType kElement, class Body>
HWY_INLINE void for_each_channels(const DepthwiseLine& p, const Body& body) {
  for_each_stored(p.channels, [&](int64_t first, const auto& vector) HWY_ATTR {
    body(Channels<kElement, std::decay_t<decltype(vector)>>{first, vector});
  });
}

template <ElementType kElement, int64_t kWidth, int64_t kStride>
void line_of(const DepthwiseLine& p) {
  // The outputs whose taps are all inside.
  const int64_t begin = std::clamp((p.pad + kStride - 1) / kStride, p.first_output, p.last_output);
  const int64_t reach = p.input_width + p.pad - kWidth;
  const int64_t end = std::clamp(reach < 0 ? 0 : reach / kStride + 1, begin, p.last_output);
  // All channels of neighbouring outputs before the next: memory is read in order.
  int64_t x = p.first_output;
  const auto one = [&](const auto& channels) HWY_ATTR { any_output(p, channels, x); };
  const auto some = [&](const auto& channels) HWY_ATTR { inner_outputs<kWidth, kStride>(p, channels, x); };
  for (; x < begin; ++x) for_each_channels<kElement>(p, one);
  for (; x + kOutputs <= end; x += kOutputs) for_each_channels<kElement>(p, some);
  for (; x < p.last_output; ++x) for_each_channels<kElement>(p, one);
}

template <ElementType kElement>
void any_line(const DepthwiseLine& p) {
  int64_t x = p.first_output;
  const auto one = [&](const auto& channels) HWY_ATTR { any_output(p, channels, x); };
  for (; x < p.last_output; ++x) for_each_channels<kElement>(p, one);
}

template <ElementType kElement>
void line_of_elements(const DepthwiseLine& p) {
  if (p.dilation == 1 && p.stride <= 2) {
    const bool one = p.stride == 1;
    switch (p.kernel_width) {
      case 3: return one ? line_of<kElement, 3, 1>(p) : line_of<kElement, 3, 2>(p);
      case 5: return one ? line_of<kElement, 5, 1>(p) : line_of<kElement, 5, 2>(p);
      case 7: return one ? line_of<kElement, 7, 1>(p) : line_of<kElement, 7, 2>(p);
      default: break;
    }
  }
  any_line<kElement>(p);
}

}  // namespace

void depthwise_line_here(const DepthwiseLine& p) {
  switch (p.element) {
    case ElementType::kFloat16: return line_of_elements<ElementType::kFloat16>(p);
    case ElementType::kBFloat16: return line_of_elements<ElementType::kBFloat16>(p);
    default: return line_of_elements<ElementType::kFloat>(p);
  }
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
