#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/vector_instructions.h"

// Every processor with tiles, or with vectors of bfloat16, has these instructions.
#define VERNIER_WIDE VERNIER_TARGET("avx512f,avx512bw")

namespace vernier::cpu {

namespace {

// Pair i of row r goes where pair r of row i goes.
VERNIER_WIDE void transpose_pairs(const uint16_t* rows, int64_t stride, int64_t next, uint16_t* tile) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(rows + i * stride);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  // Quarter q of a[4 * g + j] becomes column 4 * q + j of rows 4 * g to 4 * g + 3.
#pragma GCC unroll 16
  for (int g = 0; g < 16; g += 4) {
    a[g] = _mm512_unpacklo_epi64(b[g], b[g + 2]);
    a[g + 1] = _mm512_unpackhi_epi64(b[g], b[g + 2]);
    a[g + 2] = _mm512_unpacklo_epi64(b[g + 1], b[g + 3]);
    a[g + 3] = _mm512_unpackhi_epi64(b[g + 1], b[g + 3]);
  }
#pragma GCC unroll 16
  for (int j = 0; j < 4; ++j) {
    const __m512i upper_low = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x44),
                  upper_high = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xEE),
                  lower_low = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x44),
                  lower_high = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xEE);
    uint16_t* to = tile + j * next;
    _mm512_store_si512(to, _mm512_shuffle_i32x4(upper_low, lower_low, 0x88));
    _mm512_store_si512(to + 4 * next, _mm512_shuffle_i32x4(upper_low, lower_low, 0xDD));
    _mm512_store_si512(to + 8 * next, _mm512_shuffle_i32x4(upper_high, lower_high, 0x88));
    _mm512_store_si512(to + 12 * next, _mm512_shuffle_i32x4(upper_high, lower_high, 0xDD));
  }
}

VERNIER_WIDE void pair_rows(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to) {
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int64_t pair = 0; pair < kTileRows; ++pair, rows += 2 * stride, to += places.next) {
    const __m512i first = _mm512_loadu_si512(rows), second = _mm512_loadu_si512(rows + stride);
    const __m512i low = _mm512_unpacklo_epi16(first, second), high = _mm512_unpackhi_epi16(first, second);
    _mm512_store_si512(to, _mm512_permutex2var_epi64(low, left, high));
    _mm512_store_si512(to + places.second, _mm512_permutex2var_epi64(low, right, high));
  }
}

}  // namespace

void rows_to_columns(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to) {
  transpose_pairs(rows, stride, places.next, to);
  transpose_pairs(rows + kTileRows * stride, stride, places.next, to + places.second);
}

void rows_to_depth(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to) {
  pair_rows(rows, stride, places, to);
}

}  // namespace vernier::cpu
