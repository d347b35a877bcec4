// Two vectors of 16 columns in registers, as they are read and stored: of floats, or of bfloat16 that floats
// are rounded to.
#pragma once

#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

inline constexpr int64_t kColumnLanes = 16;

VERNIER_AVX512 inline __m512 upcast_bf16(__m256i narrow) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
}

// Two vectors of 16 columns, of which the masked ones count.
struct ColumnMasks {
  __mmask16 first, second;
  __mmask32 both;
};

inline ColumnMasks column_masks(int64_t columns) {
  const auto both = static_cast<__mmask32>((uint64_t{1} << columns) - 1);
  return {static_cast<__mmask16>(both), static_cast<__mmask16>(both >> kColumnLanes), both};
}

struct ColumnPair {
  __m512 first, second;
};

VERNIER_AVX512 inline ColumnPair load_pair(const float* from, const ColumnMasks& masks) {
  return {_mm512_maskz_loadu_ps(masks.first, from), _mm512_maskz_loadu_ps(masks.second, from + kColumnLanes)};
}

VERNIER_AVX512 inline ColumnPair load_pair(const uint16_t* from, const ColumnMasks& masks) {
  return {upcast_bf16(_mm256_maskz_loadu_epi16(masks.first, from)),
          upcast_bf16(_mm256_maskz_loadu_epi16(masks.second, from + kColumnLanes))};
}

VERNIER_AVX512 inline void store_pair(const ColumnPair& pair, float* to, const ColumnMasks& masks) {
  _mm512_mask_storeu_ps(to, masks.first, pair.first);
  _mm512_mask_storeu_ps(to + kColumnLanes, masks.second, pair.second);
}

VERNIER_AVX512 inline void store_pair(const ColumnPair& pair, uint16_t* to, const ColumnMasks& masks) {
  const __m512bh narrow = _mm512_cvtne2ps_pbh(pair.second, pair.first);
  _mm512_mask_storeu_epi16(to, masks.both, reinterpret_cast<const __m512i&>(narrow));
}

}  // namespace vernier::cpu
