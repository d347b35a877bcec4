#include "vernier/backends/cpu/normalization/row_statistics.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kLanes = 16, kStep = 2 * kLanes;

VERNIER_AVX512 inline __m512 upcast(const uint16_t* from) {
  const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
}

// Upcasts a row; gives its sum.
VERNIER_AVX512 float upcast(const uint16_t* x, int64_t count, float* to) {
  __m512 even = _mm512_setzero_ps(), odd = even;
  for (int64_t i = 0; i < count; i += kStep) {
    const __m512 first = upcast(x + i), second = upcast(x + i + kLanes);
    _mm512_storeu_ps(to + i, first);
    _mm512_storeu_ps(to + i + kLanes, second);
    even = _mm512_add_ps(even, first);
    odd = _mm512_add_ps(odd, second);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

VERNIER_AVX512 float sum_squares(const float* x, int64_t count, float shift) {
  const __m512 mean = _mm512_set1_ps(shift);
  __m512 even = _mm512_setzero_ps(), odd = even;
  for (int64_t i = 0; i < count; i += kStep) {
    const __m512 first = _mm512_sub_ps(_mm512_loadu_ps(x + i), mean),
                 second = _mm512_sub_ps(_mm512_loadu_ps(x + i + kLanes), mean);
    even = _mm512_fmadd_ps(first, first, even);
    odd = _mm512_fmadd_ps(second, second, odd);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

template <bool kBias>
VERNIER_AVX512 void finish(const Bf16Normalization& n, const RowStatistics& statistics, const float* x,
                           uint16_t* y) {
  const __m512 mean = _mm512_set1_ps(statistics.mean), factor = _mm512_set1_ps(statistics.inverse_deviation);
  for (int64_t i = 0; i < n.count; i += kStep) {
    __m512 both[2];
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      const int64_t at = i + k * kLanes;
      const __m512 unit = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + at), mean), factor),
                   scale = _mm512_loadu_ps(n.scale + at);
      if constexpr (kBias)
        both[k] = _mm512_fmadd_ps(unit, scale, _mm512_loadu_ps(n.bias + at));
      else
        both[k] = _mm512_mul_ps(unit, scale);
    }
    const __m512bh narrow = _mm512_cvtne2ps_pbh(both[1], both[0]);
    _mm512_storeu_si512(y + i, reinterpret_cast<const __m512i&>(narrow));
  }
}

}  // namespace

bool normalises_bf16(int64_t count) {
  // Sums of longer rows are joined in double.
  return count > 0 && count % kStep == 0 && count <= kFoldBlock && has_bf16_vectors();
}

RowStatistics normalise_bf16(const Bf16Normalization& n, const uint16_t* x, float* buffer, uint16_t* y) {
  const auto elements = static_cast<double>(n.count);
  const float sum = upcast(x, n.count, buffer);
  RowStatistics result;
  if (n.centred) result.mean = static_cast<float>(static_cast<double>(sum) / elements);
  const double variance = static_cast<double>(sum_squares(buffer, n.count, result.mean)) / elements;
  result.inverse_deviation = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(n.epsilon)));
  n.bias != nullptr ? finish<true>(n, result, buffer, y) : finish<false>(n, result, buffer, y);
  return result;
}

}  // namespace vernier::cpu
