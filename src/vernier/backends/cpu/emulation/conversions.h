// Emulated conversions and roundings of AVX-512.
#pragma once

#include "vernier/backends/cpu/emulation/arithmetic.h"

namespace vernier::cpu::emulated {

VERNIER_BY_HALVES_1(cvtepi32_ps, __m512, __m512i)
VERNIER_BY_HALVES_1(cvtps_epi32, __m512i, __m512)

VERNIER_EMULATED __m512i _mm512_cvtepu8_epi32(__m128i x) {
  return joined(_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(x, x)));
}

VERNIER_EMULATED __m512i _mm512_cvtepi8_epi32(__m128i x) {
  return joined(_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x)));
}

VERNIER_EMULATED __m512i _mm512_cvtepu16_epi32(__m256i x) {
  return joined(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)),
                _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1)));
}

// The lowest bytes.
VERNIER_EMULATED __m128i _mm512_cvtepi32_epi8(__m512i x) {
  const __m256i lowest = _mm256_set1_epi32(0xFF), order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
  // Packing takes fours of both operands in turn.
  const __m256i words =
      _mm256_packus_epi32(_mm256_and_si256(low_half(x), lowest), _mm256_and_si256(high_half(x), lowest));
  const __m256i fours = _mm256_packus_epi16(words, words);
  return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(fours, order));
}

// The nearest bfloat16, in the upper half; those below 2^-126 become 0, and NaN stays one.
VERNIER_EMULATED __m256i rounded_to_bf16(__m256 x) {
  const __m256 flushed = without_subnormals(x);
  const __m256i bits = _mm256_castps_si256(flushed), one = _mm256_set1_epi32(1);
  const __m256i is_odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one),
                rounded = _mm256_add_epi32(bits, _mm256_add_epi32(_mm256_set1_epi32(0x7FFF), is_odd)),
                quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000)),
                is_nan = _mm256_castps_si256(_mm256_cmp_ps(flushed, flushed, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
}

VERNIER_EMULATED __m256i rounded_to_bf16(__m512 x) {
  const __m256i parts = _mm256_packus_epi32(rounded_to_bf16(low_half(x)), rounded_to_bf16(high_half(x)));
  return _mm256_permute4x64_epi64(parts, 0xD8);
}

VERNIER_EMULATED __m256bh _mm512_cvtneps_pbh(__m512 x) {
  return reinterpret_cast<__m256bh>(rounded_to_bf16(x));
}

VERNIER_EMULATED __m512bh _mm512_cvtne2ps_pbh(__m512 high, __m512 low) {
  return reinterpret_cast<__m512bh>(joined(rounded_to_bf16(low), rounded_to_bf16(high)));
}

// To whole numbers: kRounding is what _mm512_roundscale_ps takes, of which the upper four bits, digits behind
// the point, are 0.
template <int kRounding>
VERNIER_EMULATED __m512 rounded(__m512 x) {
  static_assert(kRounding >> 4 == 0);
  return joined(_mm256_round_ps(low_half(x), kRounding), _mm256_round_ps(high_half(x), kRounding));
}
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(x, rounding) ::vernier::cpu::emulated::rounded<(rounding)>(x)

// Gives what rounding down takes away, itself rounded down: -0 where nothing is left, and 0 for infinities.
template <int kRounding>
VERNIER_EMULATED __m512 rest_of_rounding(__m512 x) {
  static_assert(kRounding % 4 == _MM_FROUND_TO_NEG_INF);
  const __m512 whole = rounded<kRounding>(x), rest = _mm512_sub_ps(x, whole);
  const __m512i is_above = lanes_of(compared<_CMP_GT_OQ>(_mm512_add_ps(rest, whole), x));  // the sum is exact
  const __m512 below = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(rest), is_above));
  const __m512 infinity = _mm512_set1_ps(__builtin_inff()),
               size = _mm512_max_ps(x, _mm512_sub_ps(__m512{}, x));
  const __m512 none = chosen(lanes_of(compared<_CMP_EQ_OQ>(size, infinity)), _mm512_set1_ps(-0.0F), __m512{});
  return chosen(lanes_of(compared<_CMP_EQ_OQ>(x, whole)), below, none);
}
#undef _mm512_reduce_ps
#define _mm512_reduce_ps(x, rounding) ::vernier::cpu::emulated::rest_of_rounding<(rounding)>(x)

// x * 2^floor(power), rounded once: the power is applied to doubles.
VERNIER_EMULATED __m128 scaled(__m128 x, __m128 power) {
  const __m256d powers = _mm256_cvtps_pd(_mm_floor_ps(power)), zero = _mm256_setzero_pd(),
                most = _mm256_set1_pd(400);  // beyond it, results are infinities or zeros
  const __m256d limited = _mm256_max_pd(_mm256_min_pd(powers, most), _mm256_sub_pd(zero, most));
  const __m256i exponents =
      _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(limited)), _mm256_set1_epi64x(1023));
  const __m256d factor = _mm256_castsi256_pd(_mm256_slli_epi64(exponents, 52));
  // 2^infinity is infinity or 0, and that of NaN is NaN, the second operand of max.
  const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), powers),
                infinity = _mm256_set1_pd(__builtin_inf()), limit = _mm256_max_pd(zero, powers);
  const __m128 product = _mm256_cvtpd_ps(_mm256_mul_pd(
      _mm256_cvtps_pd(x), _mm256_blendv_pd(limit, factor, _mm256_cmp_pd(size, infinity, _CMP_LT_OQ))));
  // Processors let infinite powers win over quiet NaN.
  const __m128i quiet = _mm_set1_epi32(0x7FC00000);
  const __m128 is_quiet = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_and_si128(_mm_castps_si128(x), quiet), quiet)),
               is_infinite =
                   _mm_cmpeq_ps(_mm_andnot_ps(_mm_set1_ps(-0.0F), power), _mm_set1_ps(__builtin_inff()));
  return _mm_blendv_ps(product, _mm_max_ps(_mm_setzero_ps(), power), _mm_and_ps(is_quiet, is_infinite));
}

VERNIER_EMULATED __m256 scaled(__m256 x, __m256 power) {
  const __m128 low = scaled(_mm256_castps256_ps128(x), _mm256_castps256_ps128(power)),
               high = scaled(_mm256_extractf128_ps(x, 1), _mm256_extractf128_ps(power, 1));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

VERNIER_EMULATED __m512 _mm512_scalef_ps(__m512 x, __m512 power) {
  return joined(scaled(low_half(x), low_half(power)), scaled(high_half(x), high_half(power)));
}

// 1 / x to 14 bits: no two makes of processors agree on more.
VERNIER_EMULATED __m256 reciprocal(__m256 x) {
  const __m256i bits = _mm256_castps_si256(_mm256_div_ps(_mm256_set1_ps(1), x));
  const __m256i nearest = _mm256_and_si256(_mm256_add_epi32(bits, _mm256_set1_epi32(0x100)),
                                           _mm256_set1_epi32(static_cast<int>(0xFFFFFE00U)));
  const __m256 result = _mm256_castsi256_ps(nearest);
  return _mm256_blendv_ps(result, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

VERNIER_EMULATED __m512 _mm512_rcp14_ps(__m512 x) {
  return joined(reciprocal(low_half(x)), reciprocal(high_half(x)));
}

}  // namespace vernier::cpu::emulated
