// Vectors of AVX-512 for kernels whose results are rounded to bfloat16: what ends a sum, and the rounding.
// Numbers of bfloat16 below 2^-126 become 0, as tiles have them.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/epilogue/activation_epilogue.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/vector_instructions.h"

// Processors with products of bfloat16 have those of bytes (VNNI).
#define VERNIER_AVX512 VERNIER_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni")

namespace vernier::cpu {

// Whether this process may use them; processors with tiles have them.
inline bool has_bf16_vectors() {
  return has(Feature::kBf16);
}

// 32 numbers, those of even and of odd places: a bfloat16 is the upper half of a float, so that one
// instruction upcasts either.
struct Bf16Pair {
  __m512 even, odd;
};

// The first `count` of 32.
inline __mmask32 first_bf16(int64_t count) {
  return static_cast<__mmask32>((uint64_t{1} << count) - 1);
}

VERNIER_AVX512 inline Bf16Pair load_bf16(const uint16_t* from, __mmask32 mask) {
  const __m512i pairs = _mm512_maskz_loadu_epi16(mask, from);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(pairs, upper))};
}

// Rounding both puts the even ones first.
VERNIER_AVX512 inline void store_bf16(const Bf16Pair& pair, uint16_t* to, __mmask32 mask) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                      21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                      11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512bh narrow = _mm512_cvtne2ps_pbh(pair.odd, pair.even);
  _mm512_mask_storeu_epi16(
      to, mask,
      _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), reinterpret_cast<const __m512i&>(narrow)));
}

// 2^power within 2^-13.7 of it: 2^r of 0 <= r < 1 is a polynomial.
VERNIER_AVX512 inline __m512 power_of_two(__m512 power) {
  constexpr int kLessFloor = 0x9;
  const __m512 r = _mm512_reduce_ps(power, kLessFloor);
  __m512 p = _mm512_set1_ps(0.0780252892F);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.226066051F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.695833897F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.999925238F));
  return _mm512_scalef_ps(p, power);
}

// ActivationEpilogue of vectors.
template <RowGate kGate>
struct VectorEpilogue {
  __m512 low, high, swish;

  VERNIER_AVX512 explicit VectorEpilogue(const ActivationEpilogue& end)
      : low(_mm512_set1_ps(end.low)),
        high(_mm512_set1_ps(end.high)),
        swish(_mm512_set1_ps(as_power(end.swish))) {}

  VERNIER_AVX512 __m512 of(__m512 x) const {
    // The second operand is what a comparison with NaN gives.
    if constexpr (kGate == RowGate::kNone) return _mm512_min_ps(high, _mm512_max_ps(low, x));
    if constexpr (kGate == RowGate::kSwish) return gated(x, swish);
    if constexpr (kGate == RowGate::kGelu) {
      const __m512 t = _mm512_min_ps(_mm512_set1_ps(kGeluMost), _mm512_mul_ps(x, x));
      return gated(x, polynomial(kGeluGate, t));
    }
    return gated(x, polynomial(kGeluTanhGate, _mm512_mul_ps(x, x)));
  }

 private:
  // An exponent of e, negated, as one of 2.
  static constexpr float as_power(float exponent) { return exponent * -1.44269504F; }

  template <size_t kCount>
  VERNIER_AVX512 static __m512 polynomial(const std::array<float, kCount>& coefficients, __m512 t) {
    __m512 sum = _mm512_set1_ps(as_power(coefficients[kCount - 1]));
    for (size_t i = kCount - 1; i > 0; --i)
      sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(as_power(coefficients[i - 1])));
    return sum;
  }

  // x / (1 + 2^(x * scale)) within 2^-12 of it.
  VERNIER_AVX512 static __m512 gated(__m512 x, __m512 scale) {
    const __m512 sum = _mm512_add_ps(_mm512_set1_ps(1.0F), power_of_two(_mm512_mul_ps(x, scale)));
    return _mm512_mul_ps(x, _mm512_rcp14_ps(sum));
  }
};

}  // namespace vernier::cpu
