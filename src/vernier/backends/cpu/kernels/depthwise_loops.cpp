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

constexpr int64_t kOutputs = 8;  // at a time: neighbours read the same pixels, and no sum waits for itself

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
  HWY_INLINE void store(const DepthwiseLine& p, Vec sums, int64_t x) const {
    const Floats d;
    const Vec low = hn::Set(d, p.lowest), high = hn::Set(d, p.highest);
    const Vec above = hn::IfThenElse(hn::Lt(sums, low), low, sums);  // NaN stays
    vector.store(hn::IfThenElse(hn::Gt(above, high), high, above), ElementType::kFloat,
                 p.sums + (x - p.first_output) * p.sums_stride, first);
  }
};

// One output, of any window; taps outside of the line are left out.
template <class Channels>
HWY_INLINE void any_output(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums = channels.load(p.start);
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    for (int64_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t column = x * p.stride + kx * p.dilation - p.pad;
      if (column < 0 || column >= p.input_width) continue;
      const Vec pixel = channels.input(p.input, ky * p.line_dilation * p.line + column * p.pixel);
      const float* weights = p.weights + (ky * p.kernel_width + kx) * p.channels;
      sums = hn::MulAdd(pixel, channels.load(weights), sums);
    }
  }
  channels.store(p, sums, x);
}

// A pixel, times the tap by which each output meets it. Here and below loops are unrolled by hand: arrays
// whose indices are constants are kept in registers.
template <int64_t kStride, int64_t kColumn, int64_t kOutput = 0, size_t kWidth>
HWY_INLINE void add_pixel(Vec pixel, const Vec (&taps)[kWidth], Vec (&sums)[kOutputs]) {
  constexpr int64_t kTap = kColumn - kOutput * kStride;
  if constexpr (kTap >= 0 && kTap < static_cast<int64_t>(kWidth))
    sums[kOutput] = hn::MulAdd(pixel, taps[kTap], sums[kOutput]);
  if constexpr (kOutput + 1 < kOutputs) add_pixel<kStride, kColumn, kOutput + 1>(pixel, taps, sums);
}

// The columns of those that the outputs read whose bit is set, from element `at` on.
template <int64_t kStride, int64_t kColumn = 0, class Channels, size_t kWidth>
HWY_INLINE void add_line(const Channels& channels, const void* input, int64_t at, int64_t pixel,
                         uint32_t columns, const Vec (&taps)[kWidth], Vec (&sums)[kOutputs]) {
  if ((columns & (1U << kColumn)) != 0) add_pixel<kStride, kColumn>(channels.input(input, at), taps, sums);
  if constexpr (kColumn + 1 < (kOutputs - 1) * kStride + static_cast<int64_t>(kWidth))
    add_line<kStride, kColumn + 1>(channels, input, at + pixel, pixel, columns, taps, sums);
}

// `from`: the first vector, and how far it is to the next.
template <int64_t kIndex = 0, class Channels, size_t kCount>
HWY_INLINE void load_all(const Channels& channels, const float* from, int64_t step, Vec (&vectors)[kCount]) {
  vectors[kIndex] = channels.load(from + kIndex * step);
  if constexpr (kIndex + 1 < static_cast<int64_t>(kCount))
    load_all<kIndex + 1>(channels, from, step, vectors);
}

template <int64_t kIndex = 0, class Channels>
HWY_INLINE void store_first(const DepthwiseLine& p, const Channels& channels, const Vec (&sums)[kOutputs],
                            int64_t count, int64_t x) {
  if (kIndex < count) channels.store(p, sums[kIndex], x + kIndex);
  if constexpr (kIndex + 1 < kOutputs) store_first<kIndex + 1>(p, channels, sums, count, x);
}

// Bits [first, last) of those that there are.
HWY_INLINE uint32_t bits(int64_t first, int64_t last) {
  const auto below = [](int64_t bit) { return (uint64_t{1} << std::clamp<int64_t>(bit, 0, 32)) - 1; };
  return static_cast<uint32_t>(below(last) & ~below(first));
}

// Up to kOutputs outputs from x on. Sums are taken in the same order as above.
template <int64_t kWidth, int64_t kStride, class Channels>
HWY_INLINE void some_outputs(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  constexpr int64_t kColumns = (kOutputs - 1) * kStride + kWidth;
  Vec sums[kOutputs], taps[kWidth];
  load_all(channels, p.start, 0, sums);
  const int64_t column = x * kStride - p.pad, count = std::min(kOutputs, p.last_output - x);
  const uint32_t inside = bits(-column, std::min((count - 1) * kStride + kWidth, p.input_width - column));
  const void* input = p.input;
  const int64_t line = p.line_dilation * p.line, pixel = p.pixel, last = p.last_tap_line;
  int64_t at = p.first_tap_line * line + column * pixel;
  for (int64_t ky = p.first_tap_line; ky < last; ++ky, at += line) {
    load_all(channels, p.weights + ky * kWidth * p.channels, p.channels, taps);
    if (inside == bits(0, kColumns))
      add_line<kStride>(channels, input, at, pixel, bits(0, kColumns), taps, sums);
    else
      add_line<kStride>(channels, input, at, pixel, inside, taps, sums);
  }
  store_first(p, channels, sums, count, x);
}

// body(channels) for whole vectors of channels; the last ones are taken once more where they fill none.
template <ElementType kElement, class Body>
HWY_INLINE void for_each_vector(const DepthwiseLine& p, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  for (int64_t first = 0; first < p.channels; first += lanes)
    body(Channels<kElement, WholeVector>{std::min(first, p.channels - lanes), {}});
}

template <ElementType kElement>
void any_line(const DepthwiseLine& p) {
  for (int64_t x = p.first_output; x < p.last_output; ++x) {
    if (p.channels < static_cast<int64_t>(hn::Lanes(Floats())))
      any_output(p, Channels<kElement, PartialVector>{0, {static_cast<size_t>(p.channels)}}, x);
    else
      for_each_vector<kElement>(p, [&](const auto& channels) HWY_ATTR { any_output(p, channels, x); });
  }
}

// Under a sanitizer each of them takes minutes to compile: there one stands for all.
template <ElementType kElement, int64_t kWidth, int64_t kStride>
constexpr bool kIsUnrolled = !HWY_IS_ASAN || (kElement == ElementType::kFloat && kWidth == 3 && kStride == 1);

// All channels of neighbouring outputs before the next: memory is read in order.
template <ElementType kElement, int64_t kWidth, int64_t kStride>
void line_of(const DepthwiseLine& p) {
  if constexpr (kIsUnrolled<kElement, kWidth, kStride>) {
    if (p.channels >= static_cast<int64_t>(hn::Lanes(Floats()))) {
      for (int64_t x = p.first_output; x < p.last_output; x += kOutputs) {
        for_each_vector<kElement>(
            p, [&](const auto& channels) HWY_ATTR { some_outputs<kWidth, kStride>(p, channels, x); });
      }
      return;
    }
  }
  any_line<kElement>(p);
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
