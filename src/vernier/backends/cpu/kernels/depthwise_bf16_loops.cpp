#include "vernier/backends/cpu/kernels/depthwise_bf16_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/kernels/bf16_vectors.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBlock = kDepthwiseChannels, kOdd = kBlock / 2;

VERNIER_AVX512 inline Bf16Pair load_floats(const float* from) {
  return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + kOdd)};
}

// What is known when a line is compiled: fewer instructions are left of the common cases.
enum class Kind : uint8_t {
  kAny,
  kInside,  // whole blocks, and all columns are inside the image
  kEdge,    // the same, but the first and the last column may be beyond the image
};

template <Kind kKind, RowGate kGate, int kOutputs>
VERNIER_AVX512 inline void store(const DepthwiseBf16Line& p, const Bf16Pair (&sums)[kOutputs], int64_t x,
                                 __mmask32 mask) {
  const VectorEnd<kGate> end(p.end);
  const int64_t count = std::min<int64_t>(kOutputs, p.outputs - x), pixel = p.pixel;
  uint16_t* to = p.output + x * pixel;
#pragma GCC unroll 8
  for (int64_t i = 0; i < kOutputs; ++i) {
    if (kKind == Kind::kAny && i >= count) break;
    store_bf16({end.of(sums[i].even), end.of(sums[i].odd)}, to + i * pixel, mask);
  }
}

// kOutputs outputs from x on. Neighbours read the same pixels; columns outside the image are left out.
template <Kind kKind, int kWidth, int kStride, int kOutputs>
VERNIER_AVX512 inline void some_outputs(const DepthwiseBf16Line& p, int64_t x, __mmask32 any_mask) {
  constexpr int kColumns = (kOutputs - 1) * kStride + kWidth;
  const __mmask32 mask = kKind == Kind::kAny ? any_mask : ~__mmask32{0};
  Bf16Pair sums[kOutputs];
  const Bf16Pair start = load_floats(p.start);
#pragma GCC unroll 8
  for (int i = 0; i < kOutputs; ++i) sums[i] = start;
  const int64_t left = x * kStride - p.pad, first = -left, last = p.input_width - left;
  for (int64_t ky = p.first_tap_line; ky < p.last_tap_line; ++ky) {
    const uint16_t* pixels = p.input + ky * p.line + left * p.pixel;
    const float* weights = p.weights + ky * kWidth * kBlock;
    Bf16Pair taps[kWidth];
#pragma GCC unroll 8
    for (int kx = 0; kx < kWidth; ++kx) taps[kx] = load_floats(weights + kx * kBlock);
#pragma GCC unroll 32
    for (int column = 0; column < kColumns; ++column) {
      const bool is_inside =
          kKind == Kind::kInside || (kKind == Kind::kEdge && column > 0 && column < kColumns - 1);
      if (!is_inside && (column < first || column >= last)) continue;
      const Bf16Pair pixel = load_bf16(pixels + column * p.pixel, mask);
#pragma GCC unroll 8
      for (int i = 0; i < kOutputs; ++i) {
        const int kx = column - i * kStride;
        if (kx < 0 || kx >= kWidth) continue;
        sums[i].even = _mm512_fmadd_ps(pixel.even, taps[kx].even, sums[i].even);
        sums[i].odd = _mm512_fmadd_ps(pixel.odd, taps[kx].odd, sums[i].odd);
      }
    }
  }
  p.end.gate == RowGate::kSwish ? store<kKind, RowGate::kSwish>(p, sums, x, mask)
                                : store<kKind, RowGate::kNone>(p, sums, x, mask);
}

template <int kWidth, int kStride, int kOutputs>
VERNIER_AVX512 void line_by(const DepthwiseBf16Line& p) {
  constexpr int64_t kColumns = (kOutputs - 1) * kStride + kWidth;
  const __mmask32 mask = first_bf16(p.channels);
  for (int64_t x = 0; x < p.outputs; x += kOutputs) {
    const int64_t left = x * kStride - p.pad, beyond = left + kColumns - p.input_width;
    const bool is_whole = p.channels == kBlock && x + kOutputs <= p.outputs;
    if (is_whole && left >= 0 && beyond <= 0)
      some_outputs<Kind::kInside, kWidth, kStride, kOutputs>(p, x, mask);
    else if (kWidth == 3 && is_whole && left >= -1 && beyond <= 1)
      some_outputs<Kind::kEdge, kWidth, kStride, kOutputs>(p, x, mask);
    else
      some_outputs<Kind::kAny, kWidth, kStride, kOutputs>(p, x, mask);
  }
}

// As many outputs at a time as leave few places empty at the end of the line.
template <int kWidth, int kStride>
void line_of(const DepthwiseBf16Line& p) {
  const auto rounded_up = [&](int64_t unit) { return (p.outputs + unit - 1) / unit * unit; };
  rounded_up(7) <= rounded_up(4) ? line_by<kWidth, kStride, 7>(p) : line_by<kWidth, kStride, 4>(p);
}

}  // namespace

bool has_depthwise_bf16(int64_t kernel_width, int64_t stride, int64_t dilation) {
  return has_bf16_vectors() && (kernel_width == 3 || kernel_width == 5) && stride <= 2 && dilation == 1;
}

std::vector<float> depthwise_blocks(std::span<const float> rows, int64_t channels) {
  const int64_t count = static_cast<int64_t>(rows.size()) / channels,
                blocks = (channels + kBlock - 1) / kBlock;
  std::vector<float> result(static_cast<size_t>(blocks * count * kBlock));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t channel = i % kBlock, place = channel % 2 * kOdd + channel / 2;
      result[static_cast<size_t>((i / kBlock * count + row) * kBlock + place)] =
          rows[static_cast<size_t>(row * channels + i)];
    }
  }
  return result;
}

void depthwise_bf16_line(const DepthwiseBf16Line& line) {
  const bool one = line.stride == 1;
  if (line.kernel_width == 3) return one ? line_of<3, 1>(line) : line_of<3, 2>(line);
  return one ? line_of<5, 1>(line) : line_of<5, 2>(line);
}

}  // namespace vernier::cpu
