#include "vernier/backends/cpu/winograd/winograd_transform.h"

#include "vernier/backends/cpu/vector_instructions.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

VERNIER_AVX512 inline __m512 load(const float* from) {
  return _mm512_loadu_ps(from);
}

VERNIER_AVX512 inline __m512 load(const uint16_t* from) {
  const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
}

VERNIER_AVX512 inline void store(__m512 x, float* to) {
  _mm512_storeu_ps(to, x);
}

VERNIER_AVX512 inline void store(__m512 x, uint16_t* to) {
  const __m256bh narrow = _mm512_cvtneps_pbh(x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<const __m256i&>(narrow));
}

VERNIER_AVX512 inline __m512 plus(__m512 a, __m512 b) {
  return _mm512_add_ps(a, b);
}

VERNIER_AVX512 inline __m512 minus(__m512 a, __m512 b) {
  return _mm512_sub_ps(a, b);
}

// a + factor * b
VERNIER_AVX512 inline __m512 plus(__m512 a, float factor, __m512 b) {
  return _mm512_fmadd_ps(_mm512_set1_ps(factor), b, a);
}

VERNIER_AVX512 inline __m512 times(float factor, __m512 x) {
  return _mm512_mul_ps(_mm512_set1_ps(factor), x);
}

// One axis of a tile: what lies `kStride` apart in d becomes what lies so in t.
template <int kOutputs>
struct Axis;

template <>
struct Axis<2> {
  template <int kStride>
  VERNIER_AVX512 static void of_pixels(const __m512* d, __m512* t) {
    const __m512 d0 = d[0], d1 = d[kStride], d2 = d[2 * kStride], d3 = d[3 * kStride];
    t[0] = minus(d0, d2);
    t[kStride] = plus(d1, d2);
    t[2 * kStride] = minus(d2, d1);
    t[3 * kStride] = minus(d1, d3);
  }
  template <int kFrom, int kTo>
  VERNIER_AVX512 static void of_sums(const __m512* s, __m512* t) {
    const __m512 both = plus(s[kFrom], s[2 * kFrom]), difference = minus(s[kFrom], s[2 * kFrom]);
    t[0] = plus(s[0], both);
    t[kTo] = minus(difference, s[3 * kFrom]);
  }
  template <int kFrom, int kTo>
  VERNIER_AVX512 static void of_weights(const __m512* g, __m512* t) {
    const __m512 ends = plus(g[0], g[2 * kFrom]);
    t[0] = g[0];
    t[kTo] = times(0.5F, plus(ends, g[kFrom]));
    t[2 * kTo] = times(0.5F, minus(ends, g[kFrom]));
    t[3 * kTo] = g[2 * kFrom];
  }
};

template <>
struct Axis<4> {
  template <int kStride>
  VERNIER_AVX512 static void of_pixels(const __m512* d, __m512* t) {
    const __m512 d0 = d[0], d1 = d[kStride], d2 = d[2 * kStride], d3 = d[3 * kStride], d4 = d[4 * kStride],
                 d5 = d[5 * kStride];
    const __m512 a = plus(d4, -4, d2), b = plus(d3, -4, d1), c = minus(d4, d2), e = minus(d3, d1);
    t[0] = plus(plus(d4, -5, d2), 4, d0);
    t[kStride] = plus(a, b);
    t[2 * kStride] = minus(a, b);
    t[3 * kStride] = plus(c, 2, e);
    t[4 * kStride] = plus(c, -2, e);
    t[5 * kStride] = plus(plus(d5, -5, d3), 4, d1);
  }
  template <int kFrom, int kTo>
  VERNIER_AVX512 static void of_sums(const __m512* s, __m512* t) {
    const __m512 a = plus(s[kFrom], s[2 * kFrom]), b = minus(s[kFrom], s[2 * kFrom]),
                 c = plus(s[3 * kFrom], s[4 * kFrom]), d = minus(s[3 * kFrom], s[4 * kFrom]);
    t[0] = plus(s[0], plus(a, c));
    t[kTo] = plus(b, 2, d);
    t[2 * kTo] = plus(a, 4, c);
    t[3 * kTo] = plus(plus(b, 8, d), s[5 * kFrom]);
  }
  template <int kFrom, int kTo>
  VERNIER_AVX512 static void of_weights(const __m512* g, __m512* t) {
    const __m512 ends = plus(g[0], g[2 * kFrom]), far = plus(g[0], 4, g[2 * kFrom]);
    t[0] = times(1.0F / 4, g[0]);
    t[kTo] = times(-1.0F / 6, plus(ends, g[kFrom]));
    t[2 * kTo] = times(-1.0F / 6, minus(ends, g[kFrom]));
    t[3 * kTo] = times(1.0F / 24, plus(far, 2, g[kFrom]));
    t[4 * kTo] = times(1.0F / 24, plus(far, -2, g[kFrom]));
    t[5 * kTo] = g[2 * kFrom];
  }
};

template <int kOutputs, class T>
VERNIER_AVX512 void transform_pixels(const WinogradInput& in) {
  constexpr int kPixels = kOutputs + 2;
  auto* to = static_cast<T*>(in.to);
  for (int64_t channel = 0; channel < in.channels; channel += kWinogradLanes, to += kWinogradLanes) {
    __m512 d[kPixels * kPixels];
#pragma GCC unroll 36
    for (int i = 0; i < kPixels * kPixels; ++i) d[i] = load(static_cast<const T*>(in.pixels[i]) + channel);
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) Axis<kOutputs>::template of_pixels<kPixels>(d + i, d + i);
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) Axis<kOutputs>::template of_pixels<1>(d + i * kPixels, d + i * kPixels);
#pragma GCC unroll 36
    for (int i = 0; i < kPixels * kPixels; ++i) store(d[i], to + i * in.position);
  }
}

template <int kOutputs>
VERNIER_AVX512 void transform_all_sums(const WinogradSums& s) {
  constexpr int kPixels = kOutputs + 2, kColumns = 2 * kWinogradLanes;
  for (int64_t half = 0; half < kColumns; half += kWinogradLanes) {
    __m512 sums[kPixels * kPixels], lines[kOutputs * kPixels], outputs[kOutputs * kOutputs];
#pragma GCC unroll 36
    for (int i = 0; i < kPixels * kPixels; ++i) sums[i] = load(s.sums + i * s.position + half);
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) Axis<kOutputs>::template of_sums<kPixels, kPixels>(sums + i, lines + i);
#pragma GCC unroll 4
    for (int i = 0; i < kOutputs; ++i)
      Axis<kOutputs>::template of_sums<1, 1>(lines + i * kPixels, outputs + i * kOutputs);
#pragma GCC unroll 4
    for (int i = 0; i < kOutputs; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kOutputs; ++j)
        store(outputs[i * kOutputs + j], s.to + i * s.line + j * kColumns + half);
    }
  }
}

template <int kOutputs>
VERNIER_AVX512 void transform_all_weights(const float* weights, float* to) {
  constexpr int kTaps = 3, kPixels = kOutputs + 2, kColumns = 2 * kWinogradLanes;
  for (int64_t half = 0; half < kColumns; half += kWinogradLanes) {
    __m512 g[kTaps * kTaps], lines[kPixels * kTaps], u[kPixels * kPixels];
    for (int i = 0; i < kTaps * kTaps; ++i) g[i] = load(weights + i * kColumns + half);
#pragma GCC unroll 3
    for (int i = 0; i < kTaps; ++i) Axis<kOutputs>::template of_weights<kTaps, kTaps>(g + i, lines + i);
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i)
      Axis<kOutputs>::template of_weights<1, 1>(lines + i * kTaps, u + i * kPixels);
#pragma GCC unroll 36
    for (int i = 0; i < kPixels * kPixels; ++i) store(u[i], to + i * kColumns + half);
  }
}

}  // namespace

void transform_input(const WinogradSize& size, ElementType element, const WinogradInput& input) {
  const bool floats = element == ElementType::kFloat;
  if (size.outputs == 2)
    return floats ? transform_pixels<2, float>(input) : transform_pixels<2, uint16_t>(input);
  floats ? transform_pixels<4, float>(input) : transform_pixels<4, uint16_t>(input);
}

void transform_sums(const WinogradSize& size, const WinogradSums& sums) {
  size.outputs == 2 ? transform_all_sums<2>(sums) : transform_all_sums<4>(sums);
}

void transform_weights(const WinogradSize& size, const float* weights, float* to) {
  size.outputs == 2 ? transform_all_weights<2>(weights, to) : transform_all_weights<4>(weights, to);
}

}  // namespace vernier::cpu
