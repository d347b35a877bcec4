#include "vernier/backends/cpu/tiles/tile_store.h"

#include "vernier/backends/cpu/kernels/bf16_vectors.h"
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

// x / (1 + e^(-alpha * x)) of floats, within a few units in the last place.
class FloatSwish {
 public:
  VERNIER_AVX512 explicit FloatSwish(const RowEnd& end) : exponent_(_mm512_set1_ps(-end.swish)) {}

  VERNIER_AVX512 __m512 of(__m512 x) const {
    const __m512 one = _mm512_set1_ps(1);
    const __m512 sum = _mm512_add_ps(one, exponential(_mm512_mul_ps(x, exponent_)));
    // The reciprocal of what is larger is no normal number: the gate is 0. A NaN is not larger.
    const __mmask16 open = _mm512_cmp_ps_mask(sum, _mm512_set1_ps(0x1p125F), _CMP_NGT_UQ);
    const __m512 guess = _mm512_rcp14_ps(sum), off = _mm512_fnmadd_ps(sum, guess, one);
    return _mm512_mul_ps(x, _mm512_maskz_fmadd_ps(open, guess, off, guess));
  }

 private:
  // 2^n * 2^r, |r| <= 1/2; the polynomial is within 2^-23.6 of 2^r.
  VERNIER_AVX512 static __m512 exponential(__m512 x) {
    const __m512 scale = _mm512_set1_ps(1.44269504F), rest = _mm512_set1_ps(1.92596299e-8F);  // 1 / ln(2)
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, scale), _MM_FROUND_TO_NEAREST_INT);
    const __m512 r = _mm512_fmadd_ps(x, rest, _mm512_fmsub_ps(x, scale, n));
    __m512 p = _mm512_set1_ps(0.0013276472F);
    for (const float coefficient : {0.009675541F, 0.05550713F, 0.2402212F, 0.69314694F, 1.0000001F})
      p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(coefficient));
    return _mm512_scalef_ps(p, n);
  }

  __m512 exponent_;
};

template <class T, RowGate kGate>
using EndOf =
    std::conditional_t<std::is_same_v<T, float> && kGate == RowGate::kSwish, FloatSwish, VectorEnd<kGate>>;

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
