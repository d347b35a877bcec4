#include "vernier/backends/cpu/tiles/tile_store.h"

#include <immintrin.h>

#include "vernier/backends/cpu/tiles/tile_block.h"

// g++ 12 takes the undefined vectors of its own header for a mistake of ours.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Processors with tiles have all of this.
#define VERNIER_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace vernier::cpu {

namespace {

// Two vectors of 16 columns, of which the masked ones count.
struct Masks {
  __mmask16 first, second;
  __mmask32 both;
};

Masks masks_of(int64_t columns) {
  const auto both = static_cast<__mmask32>((uint64_t{1} << columns) - 1);
  return {static_cast<__mmask16>(both), static_cast<__mmask16>(both >> kTileRows), both};
}

struct Pair {
  __m512 first, second;
};

VERNIER_AVX512 inline Pair load_pair(const float* from, const Masks& masks) {
  return {_mm512_maskz_loadu_ps(masks.first, from), _mm512_maskz_loadu_ps(masks.second, from + kTileRows)};
}

VERNIER_AVX512 inline __m512 widened(__m256i halves) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

VERNIER_AVX512 inline Pair load_pair(const uint16_t* from, const Masks& masks) {
  return {widened(_mm256_maskz_loadu_epi16(masks.first, from)),
          widened(_mm256_maskz_loadu_epi16(masks.second, from + kTileRows))};
}

VERNIER_AVX512 inline void store_pair(const Pair& pair, float* to, const Masks& masks) {
  _mm512_mask_storeu_ps(to, masks.first, pair.first);
  _mm512_mask_storeu_ps(to + kTileRows, masks.second, pair.second);
}

VERNIER_AVX512 inline void store_pair(const Pair& pair, uint16_t* to, const Masks& masks) {
  const __m512bh halves = _mm512_cvtne2ps_pbh(pair.second, pair.first);
  _mm512_mask_storeu_epi16(to, masks.both, reinterpret_cast<const __m512i&>(halves));
}

template <class T, bool kResidual>
VERNIER_AVX512 void store_as(const TileStore& s) {
  const Masks masks = masks_of(s.columns);
  const Pair bias = load_pair(s.bias, masks);
  const __m512 low = _mm512_set1_ps(s.low), high = _mm512_set1_ps(s.high);
  const auto* residual = static_cast<const T*>(s.residual);
  auto* y = static_cast<T*>(s.y);
  for (int64_t row = 0; row < s.rows; ++row, y += s.stride) {
    Pair sums = load_pair(s.sums + row * kBlockColumns, masks);
    sums = {_mm512_add_ps(sums.first, bias.first), _mm512_add_ps(sums.second, bias.second)};
    if constexpr (kResidual) {
      const Pair more = load_pair(residual + row * s.stride, masks);
      sums = {_mm512_add_ps(sums.first, more.first), _mm512_add_ps(sums.second, more.second)};
    }
    // The second operand is what a comparison with NaN gives.
    sums = {_mm512_min_ps(high, _mm512_max_ps(low, sums.first)),
            _mm512_min_ps(high, _mm512_max_ps(low, sums.second))};
    store_pair(sums, y, masks);
  }
}

}  // namespace

void store_tiles(const TileStore& store) {
  const bool residual = store.residual != nullptr;
  if (store.is_narrow)
    residual ? store_as<uint16_t, true>(store) : store_as<uint16_t, false>(store);
  else
    residual ? store_as<float, true>(store) : store_as<float, false>(store);
}

}  // namespace vernier::cpu
