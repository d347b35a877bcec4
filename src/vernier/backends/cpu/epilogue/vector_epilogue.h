// ActivationEpilogue on AVX-512 vectors of floats, as accurate as the type that the result is stored in.
#pragma once

#include <type_traits>

#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

// x / (1 + e^(-alpha * x)) for results that are stored as floats. The error is a few units in the last place,
// plus what the rounding of alpha * x contributes through the exponential.
class FloatSwish {
 public:
  VERNIER_AVX512 explicit FloatSwish(const ActivationEpilogue& end) : exponent_(_mm512_set1_ps(-end.swish)) {}

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

// The activation that is accurate enough for results stored as T.
template <class T, RowGate kGate>
using VectorEpilogueOf = std::conditional_t<std::is_same_v<T, float> && kGate == RowGate::kSwish, FloatSwish,
                                            VectorEpilogue<kGate>>;

}  // namespace vernier::cpu
