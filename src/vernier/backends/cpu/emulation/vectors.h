// Vectors of 64 bytes as two of AVX2, and masks as vectors: what the emulation of AVX-512 is made of.
#pragma once

#include <immintrin.h>

#include <cstdint>

// Macros in some compilers, or where they do not optimise.
#undef _mm512_setr_epi32
#undef _mm512_setr_epi64
#undef _mm512_slli_epi32
#undef _mm512_mask_blend_epi8

#define VERNIER_EMULATED inline __attribute__((always_inline, target("avx2,fma")))

namespace vernier::cpu::emulated {

VERNIER_EMULATED __m512 joined(__m256 low, __m256 high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

VERNIER_EMULATED __m512i joined(__m256i low, __m256i high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

VERNIER_EMULATED __m256 low_half(__m512 x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
}

VERNIER_EMULATED __m256 high_half(__m512 x) {
  return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}

VERNIER_EMULATED __m256i low_half(__m512i x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3);
}

VERNIER_EMULATED __m256i high_half(__m512i x) {
  return __builtin_shufflevector(x, x, 4, 5, 6, 7);
}

// Applies an instruction of AVX2 to each half. That is exactly what the instruction of AVX-512 does, because
// both treat the same parts of 16 bytes separately.
#define VERNIER_BY_HALVES_1(name, Result, A)                                \
  VERNIER_EMULATED Result _mm512_##name(A a) {                              \
    return joined(_mm256_##name(low_half(a)), _mm256_##name(high_half(a))); \
  }
#define VERNIER_BY_HALVES_2(name, T)                                                                   \
  VERNIER_EMULATED T _mm512_##name(T a, T b) {                                                         \
    return joined(_mm256_##name(low_half(a), low_half(b)), _mm256_##name(high_half(a), high_half(b))); \
  }
#define VERNIER_BY_HALVES_3(name, T)                                        \
  VERNIER_EMULATED T _mm512_##name(T a, T b, T c) {                         \
    return joined(_mm256_##name(low_half(a), low_half(b), low_half(c)),     \
                  _mm256_##name(high_half(a), high_half(b), high_half(c))); \
  }

VERNIER_EMULATED __m512 _mm512_castsi512_ps(__m512i x) {
  return reinterpret_cast<__m512>(x);
}

VERNIER_EMULATED __m512i _mm512_castps_si512(__m512 x) {
  return reinterpret_cast<__m512i>(x);
}

VERNIER_EMULATED __m512i _mm512_setzero_si512() {
  return __m512i{};
}

VERNIER_EMULATED __m512 _mm512_setzero_ps() {
  return __m512{};
}

VERNIER_EMULATED __m512 _mm512_set1_ps(float x) {
  return joined(_mm256_set1_ps(x), _mm256_set1_ps(x));
}

VERNIER_EMULATED __m512i _mm512_set1_epi32(int x) {
  return joined(_mm256_set1_epi32(x), _mm256_set1_epi32(x));
}

VERNIER_EMULATED __m512i _mm512_set1_epi16(short x) {
  return joined(_mm256_set1_epi16(x), _mm256_set1_epi16(x));
}

VERNIER_EMULATED __m512i _mm512_set1_epi8(char x) {
  return joined(_mm256_set1_epi8(x), _mm256_set1_epi8(x));
}

VERNIER_EMULATED __m512i _mm512_setr_epi32(int a, int b, int c, int d, int e, int f, int g, int h, int i,
                                           int j, int k, int l, int m, int n, int o, int p) {
  return joined(_mm256_setr_epi32(a, b, c, d, e, f, g, h), _mm256_setr_epi32(i, j, k, l, m, n, o, p));
}

VERNIER_EMULATED __m512i _mm512_setr_epi64(long long a, long long b, long long c, long long d, long long e,
                                           long long f, long long g, long long h) {
  return __m512i{a, b, c, d, e, f, g, h};
}

// All bits of the lanes that a mask names: of eight floats, and of 32 bytes.
VERNIER_EMULATED __m256i float_lanes(unsigned mask) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bits), bits);
}

VERNIER_EMULATED __m256i byte_lanes(uint32_t mask) {
  const __m256i bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201U)),
                places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(mask)), places);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits);
}

VERNIER_EMULATED __m512i lanes_of(__mmask16 mask) {
  return joined(float_lanes(mask), float_lanes(static_cast<unsigned>(mask) >> 8));
}

VERNIER_EMULATED __m512i lanes_of(__mmask64 mask) {
  return joined(byte_lanes(static_cast<uint32_t>(mask)), byte_lanes(static_cast<uint32_t>(mask >> 32)));
}

// b where the bits of `lanes` are set.
VERNIER_EMULATED __m512i chosen(__m512i lanes, __m512i a, __m512i b) {
  return joined(_mm256_blendv_epi8(low_half(a), low_half(b), low_half(lanes)),
                _mm256_blendv_epi8(high_half(a), high_half(b), high_half(lanes)));
}

VERNIER_EMULATED __m512 chosen(__m512i lanes, __m512 a, __m512 b) {
  return _mm512_castsi512_ps(chosen(lanes, _mm512_castps_si512(a), _mm512_castps_si512(b)));
}

VERNIER_EMULATED __m512i _mm512_mask_blend_epi8(__mmask64 mask, __m512i a, __m512i b) {
  return chosen(lanes_of(mask), a, b);
}

VERNIER_EMULATED __m512i _mm512_maskz_mov_epi8(__mmask64 mask, __m512i x) {
  return chosen(lanes_of(mask), __m512i{}, x);
}

VERNIER_EMULATED __m512 _mm512_maskz_mov_ps(__mmask16 mask, __m512 x) {
  return chosen(lanes_of(mask), __m512{}, x);
}

VERNIER_EMULATED __mmask64 _mm512_movepi8_mask(__m512i x) {
  const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(low_half(x))),
             high = static_cast<uint32_t>(_mm256_movemask_epi8(high_half(x)));
  return __mmask64{high} << 32 | low;
}

}  // namespace vernier::cpu::emulated
