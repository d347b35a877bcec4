#include "vernier/backends/cpu/int8_gemm/vnni_groups.h"

#include <algorithm>

#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/vector_instructions.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kLanes = 16, kVectorBytes = 64;

// Four rows of 16 columns, column by column.
VERNIER_AVX512 inline __m512i interleave(const uint8_t* from, int64_t stride, __mmask16 mask) {
  const __m128i a = _mm_maskz_loadu_epi8(mask, from), b = _mm_maskz_loadu_epi8(mask, from + stride),
                c = _mm_maskz_loadu_epi8(mask, from + 2 * stride),
                d = _mm_maskz_loadu_epi8(mask, from + 3 * stride);
  const __m128i low_ab = _mm_unpacklo_epi8(a, b), high_ab = _mm_unpackhi_epi8(a, b),
                low_cd = _mm_unpacklo_epi8(c, d), high_cd = _mm_unpackhi_epi8(c, d);
  const __m256i low =
                    _mm256_set_m128i(_mm_unpackhi_epi16(low_ab, low_cd), _mm_unpacklo_epi16(low_ab, low_cd)),
                high = _mm256_set_m128i(_mm_unpackhi_epi16(high_ab, high_cd),
                                        _mm_unpacklo_epi16(high_ab, high_cd));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

}  // namespace

VERNIER_AVX512 void pack_vnni_groups(const uint8_t* from, int64_t depth, int64_t columns, bool is_signed,
                                     std::byte* to, int32_t* sums) {
  const __m512i ones = _mm512_set1_epi8(1), shift = _mm512_set1_epi8(static_cast<char>(is_signed ? 0 : 0x80));
  for (int64_t column = 0; column < columns; column += kVectorColumns, to += depth * kVectorColumns) {
    for (int64_t half = 0; half < kVectorColumns; half += kLanes) {
      const int64_t count = std::clamp(columns - column - half, int64_t{0}, kLanes);
      const auto mask = static_cast<__mmask16>((1U << count) - 1);
      const uint8_t* at = from + column + (count > 0 ? half : 0);
      std::byte* group = to + half * kVnniGroupBytes;
      __m512i sum = _mm512_setzero_si512();
      for (int64_t k = 0; k < depth; k += kVnniGroupBytes, group += 2 * kVectorBytes) {
        const __m512i bytes = _mm512_xor_si512(interleave(at + k * columns, columns, mask), shift);
        sum = _mm512_dpbusd_epi32(sum, ones, bytes);
        _mm512_storeu_si512(group, bytes);
      }
      _mm512_storeu_si512(sums + column + half, sum);
    }
  }
}

VERNIER_AVX512 void sum_rows_of_int8(const uint8_t* from, int64_t rows, int64_t depth, bool is_signed,
                                     int32_t* sums) {
  const __m512i ones = _mm512_set1_epi8(1);
  const auto all_lanes = ~uint64_t{0};
  for (int64_t row = 0; row < rows; ++row, from += depth) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t k = 0; k < depth; k += kVectorBytes) {
      const int64_t count = std::min(kVectorBytes, depth - k);
      const __m512i bytes = _mm512_maskz_loadu_epi8(all_lanes >> (kVectorBytes - count), from + k);
      sum = is_signed ? _mm512_dpbusd_epi32(sum, ones, bytes) : _mm512_dpbusd_epi32(sum, bytes, ones);
    }
    sums[row] = _mm512_reduce_add_epi32(sum);
  }
}

}  // namespace vernier::cpu
