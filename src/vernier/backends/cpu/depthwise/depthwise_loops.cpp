#include "vernier/backends/cpu/depthwise/depthwise_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/depthwise/depthwise_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/gate_vectors-inl.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

constexpr int64_t kMostLines = 7, kMostChannels = 512;

// Pixels beyond the image.
alignas(64) constexpr float kZeros[kMostChannels] = {};

// Vectors of channels from `first` on; the last ones of a line are fewer.
template <ElementType kElement, class Vector>
struct Channels {
  int64_t first;
  Vector vector;

  static constexpr int64_t kBytes = kElement == ElementType::kFloat ? 4 : 2;  // of an element

  HWY_INLINE Vec input(const void* pixel) const { return vector.load(kElement, pixel, first); }
  HWY_INLINE Vec load(const float* from) const { return vector.load(ElementType::kFloat, from, first); }
  HWY_INLINE void store(const DepthwiseLine& p, Vec results, int64_t x) const {
    vector.store(results, ElementType::kFloat, p.sums + (x - p.first_output) * p.sums_stride, first);
  }
};

// NaN stays: of it and a number processors take the second.
HWY_INLINE Vec clamp(const DepthwiseLine& p, Vec sum) {
  const Floats d;
  return hn::Min(hn::Set(d, p.highest), hn::Max(hn::Set(d, p.lowest), sum));
}

HWY_INLINE Vec finish(const DepthwiseLine& p, Vec sum) {
  return p.swish == 0 ? clamp(p, sum) : swish(hn::Set(Floats(), p.swish), sum);
}

template <int64_t kBytes>
HWY_INLINE const std::byte* pixel_at(const DepthwiseLine& p, int64_t ky, int64_t column) {
  return static_cast<const std::byte*>(p.input) + (ky * p.line_dilation * p.line + column * p.pixel) * kBytes;
}

// One output, of any window; taps outside of the line are left out.
template <class Channels>
HWY_INLINE void any_output(const DepthwiseLine& p, const Channels& channels, int64_t x) {
  Vec sums = channels.load(p.initial);
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    for (int64_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t column = x * p.stride + kx * p.dilation - p.pad;
      if (column < 0 || column >= p.input_width) continue;
      const Vec pixel = channels.input(pixel_at<Channels::kBytes>(p, ky, column));
      const float* weights = p.weights + (ky * p.kernel_width + kx) * p.channels;
      sums = hn::MulAdd(pixel, channels.load(weights), sums);
    }
  }
  channels.store(p, finish(p, sums), x);
}

// A pixel, times the tap by which each output meets it. Here and below loops are unrolled by hand: arrays
// whose indices are constants are kept in registers.
template <int64_t kStride, int64_t kColumn, int64_t kOutput = 0, size_t kWidth, size_t kOutputs>
HWY_INLINE void add_pixel(Vec pixel, const Vec (&taps)[kWidth], Vec (&sums)[kOutputs]) {
  constexpr int64_t kTap = kColumn - kOutput * kStride;
  if constexpr (kTap >= 0 && kTap < static_cast<int64_t>(kWidth))
    sums[kOutput] = hn::MulAdd(pixel, taps[kTap], sums[kOutput]);
  if constexpr (kOutput + 1 < static_cast<int64_t>(kOutputs))
    add_pixel<kStride, kColumn, kOutput + 1>(pixel, taps, sums);
}

// The columns that the outputs read.
template <int64_t kStride, int64_t kColumn = 0, class Channels, class Line, size_t kWidth, size_t kOutputs>
HWY_INLINE void add_line(const Channels& channels, const Line& line, const Vec (&taps)[kWidth],
                         Vec (&sums)[kOutputs]) {
  Vec pixel = channels.input(line.pixel(kColumn));
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL  // which else reads it again for each product
  asm("" : "+v"(pixel.raw));
#endif
  add_pixel<kStride, kColumn>(pixel, taps, sums);
  if constexpr (kColumn + 1 < static_cast<int64_t>((kOutputs - 1) * kStride + kWidth))
    add_line<kStride, kColumn + 1>(channels, line, taps, sums);
}

// `from`: the first vector, and how far it is to the next.
template <int64_t kIndex = 0, class Channels, size_t kCount>
HWY_INLINE void load_all(const Channels& channels, const float* from, int64_t step, Vec (&vectors)[kCount]) {
  vectors[kIndex] = channels.load(from + kIndex * step);
  if constexpr (kIndex + 1 < static_cast<int64_t>(kCount))
    load_all<kIndex + 1>(channels, from, step, vectors);
}

template <int64_t kIndex = 0, size_t kCount, class F>
HWY_INLINE void map_all(Vec (&vectors)[kCount], const F& f) {
  vectors[kIndex] = f(vectors[kIndex]);
  if constexpr (kIndex + 1 < static_cast<int64_t>(kCount)) map_all<kIndex + 1>(vectors, f);
}

template <int64_t kIndex = 0, class Channels, size_t kOutputs>
HWY_INLINE void store_first(const DepthwiseLine& p, const Channels& channels, const Vec (&sums)[kOutputs],
                            int64_t count, int64_t x) {
  if (kIndex < count) channels.store(p, sums[kIndex], x + kIndex);
  if constexpr (kIndex + 1 < static_cast<int64_t>(kOutputs))
    store_first<kIndex + 1>(p, channels, sums, count, x);
}

// Where a line's pixels are that some outputs read: all inside of the image, or each at a place of its own.
struct InsideLine {
  const std::byte* first;
  int64_t step;
  HWY_INLINE const std::byte* pixel(int64_t column) const { return first + column * step; }
};
struct EdgeLine {
  const std::byte* const* pixels;
  HWY_INLINE const std::byte* pixel(int64_t column) const { return pixels[column]; }
};

// The first `count` outputs from x on. Sums are taken in the same order as above.
template <int64_t kOutputs, int64_t kWidth, int64_t kStride, class Channels, class LineOf>
HWY_INLINE void some_outputs(const DepthwiseLine& p, const Channels& channels, int64_t x, int64_t count,
                             const LineOf& line_of) {
  Vec sums[kOutputs], taps[kWidth];
  load_all(channels, p.initial, 0, sums);
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    load_all(channels, p.weights + ky * kWidth * p.channels, p.channels, taps);
    add_line<kStride>(channels, line_of(ky), taps, sums);
  }
  if (p.swish == 0)
    map_all(sums, [&](Vec sum) HWY_ATTR { return clamp(p, sum); });
  else
    map_all(sums, [alpha = hn::Set(Floats(), p.swish)](Vec sum) HWY_ATTR { return swish(alpha, sum); });
  if (count == kOutputs) return store_first(p, channels, sums, kOutputs, x);
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

// Outputs whose windows are all inside, and others, for which zeros stand beyond the image.
template <ElementType kElement, int64_t kOutputs, int64_t kWidth, int64_t kStride>
void inside_outputs(const DepthwiseLine& p, int64_t x) {
  constexpr int64_t kBytes = Channels<kElement, WholeVector>::kBytes;
  const int64_t column = x * kStride - p.pad, line = p.line_dilation * p.line * kBytes,
                step = p.pixel * kBytes;
  const std::byte* first = pixel_at<kBytes>(p, 0, column);
  for_each_vector<kElement>(
      p, [&](const auto& channels) HWY_ATTR __attribute__((always_inline)) {
        some_outputs<kOutputs, kWidth, kStride>(p, channels, x, kOutputs, [&](int64_t ky) HWY_ATTR {
          return InsideLine{first + ky * line, step};
        });
      });
}

template <ElementType kElement, int64_t kOutputs, int64_t kWidth, int64_t kStride>
void edge_outputs(const DepthwiseLine& p, int64_t x) {
  constexpr int64_t kColumns = (kOutputs - 1) * kStride + kWidth;
  const int64_t first = x * kStride - p.pad;
  const std::byte* pixels[kMostLines * kColumns];
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    for (int64_t i = 0; i < kColumns; ++i) {
      const bool is_inside = first + i >= 0 && first + i < p.input_width;
      pixels[ky * kColumns + i] = is_inside
                                      ? pixel_at<Channels<kElement, WholeVector>::kBytes>(p, ky, first + i)
                                      : reinterpret_cast<const std::byte*>(kZeros);
    }
  }
  for_each_vector<kElement>(
      p, [&](const auto& channels) HWY_ATTR __attribute__((always_inline)) {
        some_outputs<kOutputs, kWidth, kStride>(p, channels, x, std::min(kOutputs, p.last_output - x),
                                                [&](int64_t ky)
                                                    HWY_ATTR { return EdgeLine{pixels + ky * kColumns}; });
      });
}

// All channels of neighbouring outputs before the next: memory is read in order. What would go beyond the
// last output begins earlier.
template <ElementType kElement, int64_t kOutputs, int64_t kWidth, int64_t kStride>
void blocks_of(const DepthwiseLine& p) {
  constexpr int64_t kColumns = (kOutputs - 1) * kStride + kWidth;
  for (int64_t next = p.first_output; next < p.last_output; next += kOutputs) {
    const int64_t x = std::max(std::min(next, p.last_output - kOutputs), p.first_output),
                  first = x * kStride - p.pad;
    if (first >= 0 && first + kColumns <= p.input_width)
      inside_outputs<kElement, kOutputs, kWidth, kStride>(p, x);
    else
      edge_outputs<kElement, kOutputs, kWidth, kStride>(p, x);
  }
}

// Takes as many outputs at a time as fill lines of most images, so that no accumulator waits for itself.
template <ElementType kElement, int64_t kWidth, int64_t kStride>
void line_of(const DepthwiseLine& p) {
  constexpr int64_t kMany = 8, kFewer = 7;
  if constexpr (kIsUnrolled<kElement, kWidth, kStride>) {
    const int64_t outputs = p.last_output - p.first_output;
    if (p.channels >= static_cast<int64_t>(hn::Lanes(Floats())) && p.channels <= kMostChannels &&
        p.last_tap_line <= kMostLines && p.finite) {
      if (kElement == ElementType::kFloat && outputs % kMany != 0 && outputs % kFewer == 0)
        return blocks_of<kElement, kFewer, kWidth, kStride>(p);
      return blocks_of<kElement, kMany, kWidth, kStride>(p);
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
