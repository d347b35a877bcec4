// Emulated arithmetic of AVX-512, of its dot products (VNNI, bf16), and comparisons.
#pragma once

#include "vernier/backends/cpu/emulation/vectors.h"

namespace vernier::cpu::emulated {

VERNIER_BY_HALVES_2(add_ps, __m512)
VERNIER_BY_HALVES_2(sub_ps, __m512)
VERNIER_BY_HALVES_2(mul_ps, __m512)
VERNIER_BY_HALVES_2(min_ps, __m512)
VERNIER_BY_HALVES_2(max_ps, __m512)
VERNIER_BY_HALVES_3(fmadd_ps, __m512)
VERNIER_BY_HALVES_3(fmsub_ps, __m512)
VERNIER_BY_HALVES_3(fnmadd_ps, __m512)

VERNIER_BY_HALVES_2(add_epi32, __m512i)
VERNIER_BY_HALVES_2(sub_epi32, __m512i)
VERNIER_BY_HALVES_2(mullo_epi32, __m512i)
VERNIER_BY_HALVES_2(adds_epi16, __m512i)
VERNIER_BY_HALVES_2(sub_epi8, __m512i)
VERNIER_BY_HALVES_2(min_epi8, __m512i)
VERNIER_BY_HALVES_2(max_epi8, __m512i)
VERNIER_BY_HALVES_2(min_epu8, __m512i)
VERNIER_BY_HALVES_2(max_epu8, __m512i)

VERNIER_EMULATED __m512i _mm512_and_si512(__m512i a, __m512i b) {
  return a & b;
}

VERNIER_EMULATED __m512i _mm512_xor_si512(__m512i a, __m512i b) {
  return a ^ b;
}

VERNIER_EMULATED __m512i _mm512_slli_epi32(__m512i x, unsigned bits) {
  const auto count = static_cast<int>(bits);
  return joined(_mm256_slli_epi32(low_half(x), count), _mm256_slli_epi32(high_half(x), count));
}

VERNIER_EMULATED __m512 _mm512_maskz_fmadd_ps(__mmask16 mask, __m512 a, __m512 b, __m512 c) {
  return _mm512_maskz_mov_ps(mask, _mm512_fmadd_ps(a, b, c));
}

VERNIER_EMULATED __m512 _mm512_mask_max_ps(__m512 others, __mmask16 mask, __m512 a, __m512 b) {
  return chosen(lanes_of(mask), others, _mm512_max_ps(a, b));
}

template <int kComparison>
VERNIER_EMULATED __mmask16 compared(__m512 a, __m512 b) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(low_half(a), low_half(b), kComparison)),
            high = _mm256_movemask_ps(_mm256_cmp_ps(high_half(a), high_half(b), kComparison));
  return static_cast<__mmask16>(high << 8 | low);
}
#undef _mm512_cmp_ps_mask
#define _mm512_cmp_ps_mask(a, b, comparison) ::vernier::cpu::emulated::compared<(comparison)>(a, b)

// Sums in the order of g++: 8 lanes and 8, then 4 and 4, then pairs.
VERNIER_EMULATED float _mm512_reduce_add_ps(__m512 x) {
  const __m256 eight = _mm256_add_ps(high_half(x), low_half(x));
  const __m128 four = _mm_add_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight)),
               two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

VERNIER_EMULATED float _mm512_reduce_max_ps(__m512 x) {
  const __m256 eight = _mm256_max_ps(high_half(x), low_half(x));
  const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight)),
               two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

VERNIER_EMULATED int _mm512_reduce_add_epi32(__m512i x) {
  const __m256i eight = _mm256_add_epi32(high_half(x), low_half(x));
  const __m128i four = _mm_add_epi32(_mm256_extracti128_si256(eight, 1), _mm256_castsi256_si128(eight)),
                two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_srli_epi64(two, 32)));
}

// Four products of int8, with and without a sign, each; pairs of them are added as words, whose sums are
// exact.
VERNIER_EMULATED __m256i int8_products(__m256i sums, __m256i a, __m256i b) {
  const __m256i low_bytes = _mm256_set1_epi16(0xFF);
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, low_bytes),
                                         _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8)),
                odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}

VERNIER_EMULATED __m512i _mm512_dpbusd_epi32(__m512i sums, __m512i a, __m512i b) {
  return joined(int8_products(low_half(sums), low_half(a), low_half(b)),
                int8_products(high_half(sums), high_half(a), high_half(b)));
}

// Numbers below 2^-126 become 0, with their sign.
VERNIER_EMULATED __m256 without_subnormals(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x), exponent = _mm256_set1_epi32(0x7F800000),
                sign = _mm256_set1_epi32(static_cast<int>(0x80000000U));
  const __m256i is_small = _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), _mm256_setzero_si256());
  return _mm256_castsi256_ps(_mm256_blendv_epi8(bits, _mm256_and_si256(bits, sign), is_small));
}

// The odd product is added first, and each sum is rounded. Of a sum that is rounded up to 2^-126 it is not
// known here that processors make it 0.
VERNIER_EMULATED __m256 bf16_products(__m256 sums, __m256i a, __m256i b) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m256 odd_a = _mm256_castsi256_ps(_mm256_and_si256(a, upper)),
               odd_b = _mm256_castsi256_ps(_mm256_and_si256(b, upper)),
               even_a = _mm256_castsi256_ps(_mm256_slli_epi32(a, 16)),
               even_b = _mm256_castsi256_ps(_mm256_slli_epi32(b, 16));
  const __m256 odd =
      _mm256_fmadd_ps(without_subnormals(odd_a), without_subnormals(odd_b), without_subnormals(sums));
  return without_subnormals(
      _mm256_fmadd_ps(without_subnormals(even_a), without_subnormals(even_b), without_subnormals(odd)));
}

VERNIER_EMULATED __m512 _mm512_dpbf16_ps(__m512 sums, __m512bh a, __m512bh b) {
  const auto x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  return joined(bf16_products(low_half(sums), low_half(x), low_half(y)),
                bf16_products(high_half(sums), high_half(x), high_half(y)));
}

}  // namespace vernier::cpu::emulated
