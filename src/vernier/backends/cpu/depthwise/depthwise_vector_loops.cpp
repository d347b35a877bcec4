#include "vernier/backends/cpu/depthwise/depthwise_vector_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/epilogue/vector_epilogue.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBlock = kDepthwiseChannels, kOdd = kBlock / 2;

VERNIER_AVX512 inline Bf16Pair load_floats(const float* from) {
  return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + kOdd)};
}

// How images of a type are read and written.
struct Narrow {
  using Type = uint16_t;
  VERNIER_AVX512 static Bf16Pair load(const Type* from, __mmask32 mask) { return load_bf16(from, mask); }
  VERNIER_AVX512 static void store(const Bf16Pair& pair, Type* to, __mmask32 mask) {
    store_bf16(pair, to, mask);
  }
};

// In the places of even and odd numbers, the first and the second vector.
struct Wide {
  using Type = float;
  VERNIER_AVX512 static Bf16Pair load(const Type* from, __mmask32 mask) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
            _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> kOdd), from + kOdd)};
  }
  VERNIER_AVX512 static void store(const Bf16Pair& pair, Type* to, __mmask32 mask) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), pair.even);
    _mm512_mask_storeu_ps(to + kOdd, static_cast<__mmask16>(mask >> kOdd), pair.odd);
  }
};

// This is known when a line is compiled, so fewer instructions are left of the common cases.
enum class Kind : uint8_t {
  kAny,
  kInside,  // all columns are inside the image, and all outputs in the line
  kEdge,    // the same, but the first and the last column may be beyond the image
};

template <class Image, Kind kKind, RowGate kGate, int kOutputs>
VERNIER_AVX512 inline void store(const DepthwiseVectorLine& p, const Bf16Pair (&sums)[kOutputs], int64_t x,
                                 __mmask32 mask) {
  const VectorEpilogueOf<typename Image::Type, kGate> end(p.end);
  const int64_t count = std::min<int64_t>(kOutputs, p.outputs - x), pixel = p.output_pixel;
  auto* to = static_cast<typename Image::Type*>(p.output) + x * pixel;
#pragma GCC unroll 8
  for (int64_t i = 0; i < kOutputs; ++i) {
    if (kKind == Kind::kAny && i >= count) break;
    Image::store({end.of(sums[i].even), end.of(sums[i].odd)}, to + i * pixel, mask);
  }
}

// kOutputs outputs from x on. Neighbours read the same pixels; columns outside the image are left out.
template <class Image, Kind kKind, bool kMasked, int kWidth, int kStride, int kOutputs>
VERNIER_AVX512 inline void some_outputs(const DepthwiseVectorLine& p, int64_t x, __mmask32 any_mask) {
  constexpr int kColumns = (kOutputs - 1) * kStride + kWidth;
  const __mmask32 mask = kMasked ? any_mask : ~__mmask32{0};
  Bf16Pair sums[kOutputs];
  const Bf16Pair initial = load_floats(p.initial);
#pragma GCC unroll 8
  for (int i = 0; i < kOutputs; ++i) sums[i] = initial;
  const int64_t left = x * kStride - p.pad, first = -left, last = p.input_width - left;
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    const int64_t line = ky * p.line - (ky < p.ring_start ? 0 : p.ring);
    const auto* pixels = static_cast<const typename Image::Type*>(p.input) + line + left * p.pixel;
    const float* weights = p.weights + ky * kWidth * kBlock;
    Bf16Pair taps[kWidth];
#pragma GCC unroll 8
    for (int kx = 0; kx < kWidth; ++kx) taps[kx] = load_floats(weights + kx * kBlock);
#pragma GCC unroll 32
    for (int column = 0; column < kColumns; ++column) {
      const bool is_inside =
          kKind == Kind::kInside || (kKind == Kind::kEdge && column > 0 && column < kColumns - 1);
      if (!is_inside && (column < first || column >= last)) continue;
      const Bf16Pair pixel = Image::load(pixels + column * p.pixel, mask);
#pragma GCC unroll 8
      for (int i = 0; i < kOutputs; ++i) {
        const int kx = column - i * kStride;
        if (kx < 0 || kx >= kWidth) continue;
        sums[i].even = _mm512_fmadd_ps(pixel.even, taps[kx].even, sums[i].even);
        sums[i].odd = _mm512_fmadd_ps(pixel.odd, taps[kx].odd, sums[i].odd);
      }
    }
  }
  p.end.gate == RowGate::kSwish ? store<Image, kKind, RowGate::kSwish>(p, sums, x, mask)
                                : store<Image, kKind, RowGate::kNone>(p, sums, x, mask);
}

template <class Image, bool kMasked, int kWidth, int kStride, int kOutputs>
VERNIER_AVX512 void line_by(const DepthwiseVectorLine& p) {
  constexpr int64_t kColumns = (kOutputs - 1) * kStride + kWidth;
  const __mmask32 mask = first_bf16(p.channels);
  for (int64_t x = 0; x < p.outputs; x += kOutputs) {
    const int64_t left = x * kStride - p.pad, beyond = left + kColumns - p.input_width;
    const bool is_whole = x + kOutputs <= p.outputs;
    if (is_whole && left >= 0 && beyond <= 0)
      some_outputs<Image, Kind::kInside, kMasked, kWidth, kStride, kOutputs>(p, x, mask);
    else if (kWidth == 3 && is_whole && left >= -1 && beyond <= 1)
      some_outputs<Image, Kind::kEdge, kMasked, kWidth, kStride, kOutputs>(p, x, mask);
    else
      some_outputs<Image, Kind::kAny, kMasked, kWidth, kStride, kOutputs>(p, x, mask);
  }
}

// As many outputs at a time as leave few places empty at the end of the line.
template <class Image, int kWidth, int kStride>
void line_of(const DepthwiseVectorLine& p) {
  const auto rounded_up = [&](int64_t unit) { return (p.outputs + unit - 1) / unit * unit; };
  const bool by_seven = rounded_up(7) <= rounded_up(4);
  if (p.channels == kBlock)
    by_seven ? line_by<Image, false, kWidth, kStride, 7>(p) : line_by<Image, false, kWidth, kStride, 4>(p);
  else
    by_seven ? line_by<Image, true, kWidth, kStride, 7>(p) : line_by<Image, true, kWidth, kStride, 4>(p);
}

template <class Image>
void line_of_type(const DepthwiseVectorLine& p) {
  const bool one = p.stride == 1;
  if (p.kernel_width == 3) return one ? line_of<Image, 3, 1>(p) : line_of<Image, 3, 2>(p);
  return one ? line_of<Image, 5, 1>(p) : line_of<Image, 5, 2>(p);
}

}  // namespace

bool has_depthwise_vectors(int64_t kernel_width, int64_t stride, int64_t dilation) {
  return has_bf16_vectors() && (kernel_width == 3 || kernel_width == 5) && stride <= 2 && dilation == 1;
}

LineVector depthwise_blocks(ElementType element, std::span<const float> rows, int64_t channels) {
  const int64_t count = static_cast<int64_t>(rows.size()) / channels,
                blocks = (channels + kBlock - 1) / kBlock;
  LineVector result(static_cast<size_t>(blocks * count * kBlock));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t channel = i % kBlock;
      const int64_t place = element == ElementType::kFloat ? channel : channel % 2 * kOdd + channel / 2;
      result[static_cast<size_t>((i / kBlock * count + row) * kBlock + place)] =
          rows[static_cast<size_t>(row * channels + i)];
    }
  }
  return result;
}

void depthwise_vector_line(const DepthwiseVectorLine& line) {
  line.element == ElementType::kFloat ? line_of_type<Wide>(line) : line_of_type<Narrow>(line);
}

}  // namespace vernier::cpu
