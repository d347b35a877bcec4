#include "vernier/backends/cpu/gemm/tile_instructions.h"

#ifdef VERNIER_EMULATED_INSTRUCTIONS

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define VERNIER_VECTORS VERNIER_TARGET("avx512f,avx512vnni")

namespace vernier::cpu {

namespace {

constexpr size_t kRows = 16;

struct alignas(64) Tile {
  std::array<std::array<int32_t, kRows>, kRows> rows;
};

struct Tiles {
  bool configured = false;
  std::array<Tile, 8> tiles;
};
thread_local Tiles tiles_of_thread;

Tile& tile(int number) {
  if (!tiles_of_thread.configured) std::abort();
  return tiles_of_thread.tiles.at(static_cast<size_t>(number));
}

// Accumulates a row of a tile. The processor accumulates even and odd numbers of bfloat16 separately; it
// takes subnormal ones for zero, which is not done here.
class BFloat16Sums {
 public:
  VERNIER_VECTORS void add(__m512i pair, __m512i weights) {
    even_ = _mm512_fmadd_ps(even_of(pair), even_of(weights), even_);
    odd_ = _mm512_fmadd_ps(odd_of(pair), odd_of(weights), odd_);
  }
  VERNIER_VECTORS __m512i added_to(__m512i sums) const {
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(sums), _mm512_add_ps(even_, odd_)));
  }

 private:
  // A product, for g++ 12 takes the undefined vectors of its own shift for a mistake.
  VERNIER_VECTORS static __m512 even_of(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_mullo_epi32(pairs, _mm512_set1_epi32(1 << 16)));
  }
  VERNIER_VECTORS static __m512 odd_of(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
  }

  __m512 even_{}, odd_{};
};

// Four products of int8 or uint8 by int8 at a time.
template <bool kSigned>
class Int8Accumulators {
 public:
  VERNIER_VECTORS void add(__m512i four, __m512i weights) {
    if constexpr (kSigned) {  // 128 too many, to be unsigned
      const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
      sums_ = _mm512_dpbusd_epi32(sums_, _mm512_xor_si512(four, bias), weights);
      sums_ = _mm512_sub_epi32(sums_, _mm512_dpbusd_epi32(_mm512_setzero_si512(), bias, weights));
    } else {
      sums_ = _mm512_dpbusd_epi32(sums_, four, weights);
    }
  }
  VERNIER_VECTORS __m512i added_to(__m512i sums) const { return _mm512_add_epi32(sums, sums_); }

 private:
  __m512i sums_{};
};

template <class Sums>
VERNIER_VECTORS void add_products(int sums, int rows, int weights) {
  for (size_t m = 0; m < kRows; ++m) {
    Sums row;
    for (size_t k = 0; k < kRows; ++k)
      row.add(_mm512_set1_epi32(tile(rows).rows[m][k]), _mm512_load_si512(tile(weights).rows[k].data()));
    int32_t* to = tile(sums).rows[m].data();
    _mm512_store_si512(to, row.added_to(_mm512_load_si512(to)));
  }
}

}  // namespace

void emulated_tile_configure(bool configured) {
  tiles_of_thread.configured = configured;
}

void emulated_tile_zero(int number) {
  tile(number) = {};
}

void emulated_tile_load(int number, const void* from, int64_t stride) {
  for (size_t m = 0; m < kRows; ++m)
    std::memcpy(tile(number).rows[m].data(),
                static_cast<const std::byte*>(from) + static_cast<int64_t>(m) * stride,
                sizeof(tile(number).rows[m]));
}

void emulated_tile_store(int number, void* to, int64_t stride) {
  for (size_t m = 0; m < kRows; ++m)
    std::memcpy(static_cast<std::byte*>(to) + static_cast<int64_t>(m) * stride, tile(number).rows[m].data(),
                sizeof(tile(number).rows[m]));
}

void emulated_tile_bf16(int sums, int rows, int weights) {
  add_products<BFloat16Sums>(sums, rows, weights);
}

void emulated_tile_unsigned(int sums, int rows, int weights) {
  add_products<Int8Accumulators<false>>(sums, rows, weights);
}

void emulated_tile_signed(int sums, int rows, int weights) {
  add_products<Int8Accumulators<true>>(sums, rows, weights);
}

}  // namespace vernier::cpu

#endif
