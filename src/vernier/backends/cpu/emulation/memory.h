// Emulated loads and stores. Of masked ones, memory of the lanes that are not named is not touched.
#pragma once

#include <bit>
#include <cstring>

#include "vernier/backends/cpu/emulation/vectors.h"

namespace vernier::cpu::emulated {

template <class T>
void copy_lanes(uint64_t mask, const void* from, void* to) {
  if (mask != 0 && (mask & (mask + 1)) == 0) {  // the first lanes
    std::memcpy(to, from, static_cast<size_t>(std::popcount(mask)) * sizeof(T));
    return;
  }
  for (; mask != 0; mask &= mask - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(mask)) * sizeof(T);
    std::memcpy(static_cast<char*>(to) + place, static_cast<const char*>(from) + place, sizeof(T));
  }
}

// In one piece, so that sanitizers check it once.
struct [[gnu::packed, gnu::may_alias]] UnalignedFloats {
  __m512 lanes;
};

struct [[gnu::packed, gnu::may_alias]] UnalignedBytes {
  __m512i lanes;
};

VERNIER_EMULATED __m512 _mm512_loadu_ps(const void* from) {
  return static_cast<const UnalignedFloats*>(from)->lanes;
}

VERNIER_EMULATED __m512i _mm512_loadu_si512(const void* from) {
  return static_cast<const UnalignedBytes*>(from)->lanes;
}

VERNIER_EMULATED void _mm512_storeu_ps(void* to, __m512 x) {
  static_cast<UnalignedFloats*>(to)->lanes = x;
}

VERNIER_EMULATED void _mm512_storeu_si512(void* to, __m512i x) {
  static_cast<UnalignedBytes*>(to)->lanes = x;
}

// As on processors, the process ends if it is not.
VERNIER_EMULATED void require_alignment(const void* place) {
  if (reinterpret_cast<uintptr_t>(place) % sizeof(__m512i) != 0) __builtin_trap();
}

VERNIER_EMULATED __m512 _mm512_load_ps(const void* from) {
  require_alignment(from);
  return _mm512_loadu_ps(from);
}

VERNIER_EMULATED __m512i _mm512_load_si512(const void* from) {
  require_alignment(from);
  return _mm512_loadu_si512(from);
}

VERNIER_EMULATED void _mm512_store_si512(void* to, __m512i x) {
  require_alignment(to);
  _mm512_storeu_si512(to, x);
}

#define VERNIER_MASKED_LOAD(name, Mask, Vector, Lane)         \
  VERNIER_EMULATED Vector name(Mask mask, const void* from) { \
    Vector x{};                                               \
    copy_lanes<Lane>(mask, from, &x);                         \
    return x;                                                 \
  }
#define VERNIER_MASKED_STORE(name, Mask, Vector, Lane)        \
  VERNIER_EMULATED void name(void* to, Mask mask, Vector x) { \
    copy_lanes<Lane>(mask, &x, to);                           \
  }

VERNIER_MASKED_LOAD(_mm512_maskz_loadu_ps, __mmask16, __m512, float)
VERNIER_MASKED_LOAD(_mm512_maskz_loadu_epi16, __mmask32, __m512i, int16_t)
VERNIER_MASKED_LOAD(_mm512_maskz_loadu_epi8, __mmask64, __m512i, int8_t)
VERNIER_MASKED_LOAD(_mm256_maskz_loadu_epi16, __mmask16, __m256i, int16_t)
VERNIER_MASKED_LOAD(_mm256_maskz_loadu_epi8, __mmask32, __m256i, int8_t)
VERNIER_MASKED_LOAD(_mm_maskz_loadu_epi8, __mmask16, __m128i, int8_t)

VERNIER_MASKED_STORE(_mm512_mask_storeu_ps, __mmask16, __m512, float)
VERNIER_MASKED_STORE(_mm512_mask_storeu_epi16, __mmask32, __m512i, int16_t)
VERNIER_MASKED_STORE(_mm512_mask_storeu_epi8, __mmask64, __m512i, int8_t)
VERNIER_MASKED_STORE(_mm256_mask_storeu_epi8, __mmask32, __m256i, int8_t)
VERNIER_MASKED_STORE(_mm_mask_storeu_epi8, __mmask16, __m128i, int8_t)

#undef VERNIER_MASKED_LOAD
#undef VERNIER_MASKED_STORE

VERNIER_EMULATED __m512 _mm512_mask_loadu_ps(__m512 others, __mmask16 mask, const void* from) {
  copy_lanes<float>(mask, from, &others);
  return others;
}

VERNIER_EMULATED __m512i _mm512_mask_loadu_epi16(__m512i others, __mmask32 mask, const void* from) {
  copy_lanes<int16_t>(mask, from, &others);
  return others;
}

}  // namespace vernier::cpu::emulated
