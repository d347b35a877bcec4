#include "vernier/backends/cpu/gemm/gemv_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

// Vectors of which products are added to sums.
template <class T>
struct Factors;

template <>
struct Factors<uint16_t> {
  static constexpr int64_t kVector = 32;  // numbers
  using Vector = __m512bh;

  VERNIER_AVX512 static Vector load(const uint16_t* from, int64_t count) {
    const __m512i bits = _mm512_maskz_loadu_epi16(first_bf16(std::min(kVector, count)), from);
    return reinterpret_cast<const __m512bh&>(bits);
  }
  VERNIER_AVX512 static __m512 add(__m512 sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
};

template <>
struct Factors<float> {
  static constexpr int64_t kVector = 16;
  using Vector = __m512;

  VERNIER_AVX512 static Vector load(const float* from, int64_t count) {
    const auto mask = static_cast<__mmask16>((1U << std::min(kVector, count)) - 1);
    return _mm512_maskz_loadu_ps(mask, from);
  }
  VERNIER_AVX512 static __m512 add(__m512 sum, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, sum); }
};

// kRows rows at a time, which share the vectors of x. Those that follow are fetched meanwhile: processors do
// not look beyond the end of a page.
template <int kRows, class T>
VERNIER_AVX512 inline void multiply(const GemvRows<T>& p, int64_t first) {
  const T* rows = p.rows + first * p.depth;
  __m512 sums[kRows];
#pragma GCC unroll 8
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < p.depth; i += Factors<T>::kVector) {
    const auto x = Factors<T>::load(p.x + i, p.depth - i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const T* row = rows + r * p.depth + i;
      _mm_prefetch(row + kRows * p.depth, _MM_HINT_T0);
      sums[r] = Factors<T>::add(sums[r], x, Factors<T>::load(row, p.depth - i));
    }
  }
  for (int r = 0; r < kRows; ++r) p.sums[first + r] = p.initial[first + r] + _mm512_reduce_add_ps(sums[r]);
}

template <class T>
VERNIER_AVX512 void multiply_all(const GemvRows<T>& products) {
  constexpr int64_t kRows = 8;
  int64_t row = 0;
  for (; row + kRows <= products.count; row += kRows) multiply<kRows>(products, row);
  for (; row < products.count; ++row) multiply<1>(products, row);
}

}  // namespace

VERNIER_AVX512 void multiply_rows(const GemvRows<uint16_t>& products) {
  multiply_all(products);
}

VERNIER_AVX512 void multiply_rows(const GemvRows<float>& products) {
  multiply_all(products);
}

}  // namespace vernier::cpu
