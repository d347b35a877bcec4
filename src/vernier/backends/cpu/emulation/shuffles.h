// Emulated shuffles of AVX-512: packing, interleaving, parts of vectors, and tables.
#pragma once

#include "vernier/backends/cpu/emulation/vectors.h"

namespace vernier::cpu::emulated {

VERNIER_BY_HALVES_2(packs_epi32, __m512i)
VERNIER_BY_HALVES_2(packs_epi16, __m512i)
VERNIER_BY_HALVES_2(packus_epi16, __m512i)
VERNIER_BY_HALVES_2(unpacklo_epi8, __m512i)
VERNIER_BY_HALVES_2(unpackhi_epi8, __m512i)
VERNIER_BY_HALVES_2(unpacklo_epi16, __m512i)
VERNIER_BY_HALVES_2(unpackhi_epi16, __m512i)
VERNIER_BY_HALVES_2(unpacklo_epi32, __m512i)
VERNIER_BY_HALVES_2(unpackhi_epi32, __m512i)
VERNIER_BY_HALVES_2(unpacklo_epi64, __m512i)
VERNIER_BY_HALVES_2(unpackhi_epi64, __m512i)

VERNIER_EMULATED __m256i _mm512_castsi512_si256(__m512i x) {
  return low_half(x);
}

VERNIER_EMULATED __m128i _mm512_castsi512_si128(__m512i x) {
  return _mm256_castsi256_si128(low_half(x));
}

// Undefined lanes are 0.
VERNIER_EMULATED __m512i _mm512_castsi256_si512(__m256i x) {
  return joined(x, __m256i{});
}

VERNIER_EMULATED __m512i _mm512_castsi128_si512(__m128i x) {
  return joined(_mm256_zextsi128_si256(x), __m256i{});
}

template <int kHalf>
VERNIER_EMULATED __m256i half_of(__m512i x) {
  return kHalf % 2 == 0 ? low_half(x) : high_half(x);
}
#undef _mm512_extracti64x4_epi64
#define _mm512_extracti64x4_epi64(x, half) ::vernier::cpu::emulated::half_of<(half)>(x)

template <int kQuarter>
VERNIER_EMULATED __m128i quarter_of(__m512i x) {
  return _mm256_extracti128_si256(half_of<kQuarter / 2>(x), kQuarter % 2);
}
#undef _mm512_extracti32x4_epi32
#define _mm512_extracti32x4_epi32(x, quarter) ::vernier::cpu::emulated::quarter_of<(quarter)>(x)

template <int kHalf>
VERNIER_EMULATED __m512i with_half(__m512i x, __m256i half) {
  return kHalf % 2 == 0 ? joined(half, high_half(x)) : joined(low_half(x), half);
}
#undef _mm512_inserti64x4
#define _mm512_inserti64x4(x, part, half) ::vernier::cpu::emulated::with_half<(half)>(x, part)

template <int kQuarter>
VERNIER_EMULATED __m512i with_quarter(__m512i x, __m128i quarter) {
  return with_half<kQuarter / 2>(x, _mm256_inserti128_si256(half_of<kQuarter / 2>(x), quarter, kQuarter % 2));
}
#undef _mm512_inserti32x4
#define _mm512_inserti32x4(x, part, quarter) ::vernier::cpu::emulated::with_quarter<(quarter)>(x, part)

// Two quarters of a, then two of b: two bits each say which.
template <int kOrder>
VERNIER_EMULATED __m512i shuffled_quarters(__m512i a, __m512i b) {
  constexpr int kFirst = kOrder % 4, kSecond = kOrder / 4 % 4, kThird = kOrder / 16 % 4, kLast = kOrder / 64;
  return joined(_mm256_set_m128i(quarter_of<kSecond>(a), quarter_of<kFirst>(a)),
                _mm256_set_m128i(quarter_of<kLast>(b), quarter_of<kThird>(b)));
}
#undef _mm512_shuffle_i32x4
#define _mm512_shuffle_i32x4(a, b, order) ::vernier::cpu::emulated::shuffled_quarters<(order)>(a, b)

// Lane i becomes that of the table, of `size` lanes, whose number is order[i]; bits beyond do not count.
template <class Lane>
void look_up_lanes(const Lane* table, size_t size, const Lane* order, Lane* to) {
  for (size_t i = 0; i < sizeof(__m512i) / sizeof(Lane); ++i) to[i] = table[order[i] & (size - 1)];
}

template <class Lane>
VERNIER_EMULATED __m512i permuted(__m512i order, __m512i x) {
  constexpr size_t kLanes = sizeof(x) / sizeof(Lane);
  alignas(64) Lane table[kLanes], places[kLanes], found[kLanes];
  __builtin_memcpy(table, &x, sizeof(x));
  __builtin_memcpy(places, &order, sizeof(order));
  look_up_lanes(table, kLanes, places, found);
  __builtin_memcpy(&x, found, sizeof(x));
  return x;
}

template <class Lane>
VERNIER_EMULATED __m512i permuted(__m512i a, __m512i order, __m512i b) {
  constexpr size_t kLanes = sizeof(a) / sizeof(Lane);
  alignas(64) Lane table[2 * kLanes], places[kLanes], found[kLanes];
  __builtin_memcpy(table, &a, sizeof(a));
  __builtin_memcpy(table + kLanes, &b, sizeof(b));
  __builtin_memcpy(places, &order, sizeof(order));
  look_up_lanes(table, 2 * kLanes, places, found);
  __builtin_memcpy(&a, found, sizeof(a));
  return a;
}

VERNIER_EMULATED __m512i _mm512_permutexvar_epi16(__m512i order, __m512i x) {
  return permuted<uint16_t>(order, x);
}

VERNIER_EMULATED __m512i _mm512_permutexvar_epi32(__m512i order, __m512i x) {
  return permuted<uint32_t>(order, x);
}

VERNIER_EMULATED __m512i _mm512_permutex2var_epi64(__m512i a, __m512i order, __m512i b) {
  return permuted<uint64_t>(a, order, b);
}

VERNIER_EMULATED __m512i _mm512_permutex2var_epi8(__m512i a, __m512i order, __m512i b) {
  return permuted<uint8_t>(a, order, b);
}

}  // namespace vernier::cpu::emulated
