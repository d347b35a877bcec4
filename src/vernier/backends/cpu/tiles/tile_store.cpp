#include "vernier/backends/cpu/tiles/tile_store.h"

#include "vernier/backends/cpu/kernels/vector_end.h"
#include "vernier/backends/cpu/tiles/tile_block.h"

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

template <class T, bool kResidual, RowGate kGate>
VERNIER_AVX512 void store_as(const TileStore& s) {
  const Masks masks = masks_of(s.columns);
  const Pair bias = load_pair(s.bias, masks);
  const EndOf<T, kGate> end(s.end);
  const auto* residual = static_cast<const T*>(s.residual);
  auto* y = static_cast<T*>(s.y);
  for (int64_t row = 0; row < s.rows; ++row, y += s.stride) {
    Pair sums = load_pair(s.sums + row * kBlockColumns, masks);
    sums = {_mm512_add_ps(sums.first, bias.first), _mm512_add_ps(sums.second, bias.second)};
    if constexpr (kResidual) {
      const Pair more = load_pair(residual + row * s.stride, masks);
      sums = {_mm512_add_ps(sums.first, more.first), _mm512_add_ps(sums.second, more.second)};
    }
    store_pair({end.of(sums.first), end.of(sums.second)}, y, masks);
  }
}

template <class T, RowGate kGate>
void store_with(const TileStore& store) {
  store.residual != nullptr ? store_as<T, true, kGate>(store) : store_as<T, false, kGate>(store);
}

}  // namespace

void store_tiles(const TileStore& store) {
  if (!store.is_narrow) {
    return store.end.gate == RowGate::kSwish ? store_with<float, RowGate::kSwish>(store)
                                             : store_with<float, RowGate::kNone>(store);
  }
  switch (store.end.gate) {
    case RowGate::kNone: return store_with<uint16_t, RowGate::kNone>(store);
    case RowGate::kSwish: return store_with<uint16_t, RowGate::kSwish>(store);
    case RowGate::kGelu: return store_with<uint16_t, RowGate::kGelu>(store);
    case RowGate::kGeluTanh: return store_with<uint16_t, RowGate::kGeluTanh>(store);
  }
}

}  // namespace vernier::cpu
