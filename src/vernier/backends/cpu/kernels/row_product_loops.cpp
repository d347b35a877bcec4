#include "vernier/backends/cpu/kernels/row_product_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/kernels/bf16_vectors.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kVector = 32;  // numbers

VERNIER_AVX512 inline __m512bh load(const uint16_t* from, __mmask32 mask) {
  const __m512i bits = _mm512_maskz_loadu_epi16(mask, from);
  return reinterpret_cast<const __m512bh&>(bits);
}

// kRows rows at a time, which share the vectors of x. Those that follow are fetched meanwhile: processors do
// not look beyond the end of a page.
template <int kRows>
VERNIER_AVX512 inline void multiply(const RowProducts& p, int64_t first) {
  const uint16_t* rows = p.rows + first * p.depth;
  __m512 sums[kRows];
#pragma GCC unroll 8
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < p.depth; i += kVector) {
    const __mmask32 mask = first_bf16(std::min(kVector, p.depth - i));
    const __m512bh x = load(p.x + i, mask);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const uint16_t* row = rows + r * p.depth + i;
      _mm_prefetch(row + kRows * p.depth, _MM_HINT_T0);
      sums[r] = _mm512_dpbf16_ps(sums[r], x, load(row, mask));
    }
  }
  for (int r = 0; r < kRows; ++r) p.sums[first + r] = p.start[first + r] + _mm512_reduce_add_ps(sums[r]);
}

}  // namespace

VERNIER_AVX512 void multiply_rows_bf16(const RowProducts& products) {
  constexpr int64_t kRows = 8;
  int64_t row = 0;
  for (; row + kRows <= products.count; row += kRows) multiply<kRows>(products, row);
  for (; row < products.count; ++row) multiply<1>(products, row);
}

}  // namespace vernier::cpu
