#include "vernier/backends/cpu/quantized/int8_rows.h"

#include <algorithm>
#include <cmath>

#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/vector_instructions.h"

#define VERNIER_AVX512_BYTES VERNIER_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni")

namespace vernier::cpu {

namespace {

constexpr int64_t kLanes = 16;

// 256 bytes in four registers: two of them at a time are searched by the low seven bits.
struct TableRegisters {
  __m512i a, b, c, d;
};

VERNIER_AVX512_BYTES inline TableRegisters load_table(const Int8Table& table) {
  return {_mm512_loadu_si512(table.data()), _mm512_loadu_si512(table.data() + kByteVector),
          _mm512_loadu_si512(table.data() + 2 * kByteVector),
          _mm512_loadu_si512(table.data() + 3 * kByteVector)};
}

VERNIER_AVX512_BYTES inline __m512i found_in(const TableRegisters& table, __m512i codes) {
  const __m512i low = _mm512_permutex2var_epi8(table.a, codes, table.b),
                high = _mm512_permutex2var_epi8(table.c, codes, table.d);
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
}

VERNIER_AVX512_BYTES inline __mmask64 first_bytes(int64_t count) {
  return count >= kByteVector ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// The second operand of max is what a comparison with NaN gives.
VERNIER_AVX512_BYTES inline __m512 rounded(__m512 x, __m512 low, __m512 high) {
  return _mm512_min_ps(_mm512_max_ps(_mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT), low), high);
}

struct RoundingRegisters {
  __m512 scale, low, high;
  __m512i offset;

  VERNIER_AVX512_BYTES explicit RoundingRegisters(const Int8Rounding& rounding)
      : scale(_mm512_set1_ps(rounding.scale)),
        low(_mm512_set1_ps(rounding.low)),
        high(_mm512_set1_ps(rounding.high)),
        offset(_mm512_set1_epi32(-static_cast<int32_t>(rounding.low))) {}
  VERNIER_AVX512_BYTES __m512 of(__m512 x) const { return rounded(x, low, high); }
  VERNIER_AVX512_BYTES __m512i codes(__m512 x) const {
    return _mm512_add_epi32(_mm512_cvtps_epi32(x), offset);
  }
};

VERNIER_AVX512_BYTES inline uint8_t largest_of(__m512i x) {
  const __m256i half = _mm256_max_epu8(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
  const __m128i quarter = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // The least of what is missing to 255, of which there is an instruction for 16 bits.
  const __m128i missing = _mm_xor_si128(quarter, _mm_set1_epi8(-1));
  const __m128i pairs = _mm_min_epu8(missing, _mm_srli_epi16(missing, 8));
  return static_cast<uint8_t>(~_mm_cvtsi128_si32(_mm_minpos_epu16(pairs)));
}

template <bool kAdds>
VERNIER_AVX512_BYTES void round_rows(const SumRows& rows, const Int8Rounding& first_rounding,
                                     const AddedRows& added, const Int8Rounding& second_rounding,
                                     uint8_t flip) {
  const RoundingRegisters first(first_rounding), second(second_rounding);
  const __m512 unit = _mm512_set1_ps(added.unit);
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  for (int64_t row = 0; row < rows.rows; ++row) {
    const __m512i move = _mm512_set1_epi32(rows.moves[row]);
    for (int64_t column = 0; column < rows.columns; column += kLanes) {
      const auto mask = static_cast<__mmask16>(first_bytes(std::min(kLanes, rows.columns - column)));
      const __m512i sums =
          _mm512_add_epi32(_mm512_loadu_si512(rows.sums + row * kVectorColumns + column), move);
      const __m512 x = first.of(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), first.scale));
      __m512i codes;
      if constexpr (kAdds) {
        const float* from = added.mask + row * added.stride;
        const __m512 terms =
            added.step == 0 ? _mm512_set1_ps(*from) : _mm512_maskz_loadu_ps(mask, from + column);
        codes = second.codes(second.of(_mm512_fmadd_ps(terms, second.scale, _mm512_mul_ps(x, unit))));
      } else {
        codes = first.codes(x);
      }
      _mm_mask_storeu_epi8(rows.to + row * rows.stride + column, mask,
                           _mm_xor_si128(_mm512_cvtepi32_epi8(codes), flips));
    }
  }
}

}  // namespace

bool has_int8_rows() {
  return has_vector_blocks() && has(Feature::kVbmi);
}

VERNIER_AVX512_BYTES void look_up_rows(const Int8Table& table, const LookUpRows& rows) {
  const TableRegisters registers = load_table(table);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const uint8_t* from = rows.from + row * rows.from_stride;
    uint8_t* to = rows.to + row * rows.to_stride;
    for (int64_t i = 0; i < rows.count; i += kByteVector) {
      const __mmask64 mask = first_bytes(rows.count - i);
      _mm512_mask_storeu_epi8(to + i, mask, found_in(registers, _mm512_maskz_loadu_epi8(mask, from + i)));
    }
  }
}

Int8Rounding::Int8Rounding(double scale, double zero_point, ElementType type)
    : scale(static_cast<float>(scale)),
      low(static_cast<float>((type == ElementType::kInt8 ? -128 : 0) - zero_point)),
      high(static_cast<float>((type == ElementType::kInt8 ? 127 : 255) - zero_point)) {}

void round_sums(const SumRows& rows, const Int8Rounding& first, const AddedRows& added,
                const Int8Rounding& second, uint8_t flip) {
  if (added.mask != nullptr)
    round_rows<true>(rows, first, added, second, flip);
  else
    round_rows<false>(rows, first, added, second, flip);
}

Int8Softmax::Int8Softmax(double scale, double weight_scale, double weight_zero_point, ElementType type,
                         const Int8Table& then)
    : then_(then),
      weight_scale_(static_cast<float>(weight_scale)),
      offset_(static_cast<int16_t>(weight_zero_point + (type == ElementType::kInt8 ? 128 : 0))) {
  constexpr size_t kBlock = 64, kLane = 16, kWord = 4;
  for (size_t code = 0; code < weights_.size(); ++code) {
    const double weight = std::exp(-scale * static_cast<double>(code));
    const auto whole = static_cast<uint32_t>(std::nearbyint(std::ldexp(weight, 31)));
    for (size_t plane = 0; plane < kPlanes; ++plane)
      planes_[plane][code] = static_cast<uint8_t>(whole >> (8 * plane));
    // Packing takes words of four from four vectors in turn, in each lane of sixteen bytes.
    const size_t lane = code % kBlock / kLane, vector = code % kLane / kWord;
    weights_[code / kBlock * kBlock + vector * kLane + lane * kWord + code % kWord] =
        static_cast<float>(weight);
  }
}

VERNIER_AVX512_BYTES int32_t Int8Softmax::weigh(uint8_t* row, int64_t keys) const {
  __m512i largest = _mm512_setzero_si512();
  for (int64_t key = 0; key < keys; key += kByteVector)
    largest = _mm512_max_epu8(largest, _mm512_maskz_loadu_epi8(first_bytes(keys - key), row + key));
  const __m512i top = _mm512_set1_epi8(static_cast<char>(largest_of(largest))), ones = _mm512_set1_epi8(1);

  __m512i sums[kPlanes];
#pragma GCC unroll 4
  for (size_t plane = 0; plane < kPlanes; ++plane) {
    const TableRegisters table = load_table(planes_[plane]);
    sums[plane] = _mm512_setzero_si512();
    for (int64_t key = 0; key < keys; key += kByteVector) {
      const __m512i codes = _mm512_sub_epi8(top, _mm512_loadu_si512(row + key));
      const __m512i found = _mm512_maskz_mov_epi8(first_bytes(keys - key), found_in(table, codes));
      sums[plane] = _mm512_dpbusd_epi32(sums[plane], found, ones);
    }
  }
  // A lane of a plane adds up to less than 2^20 over 32768 keys.
  constexpr int kBits = 8;
  const __m512i low = _mm512_add_epi32(sums[0], _mm512_slli_epi32(sums[1], kBits)),
                high = _mm512_add_epi32(sums[2], _mm512_slli_epi32(sums[3], kBits));
  const __m512 both =
      _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(0x1p16F), _mm512_cvtepi32_ps(low));
  const __m512 factor = _mm512_set1_ps(0x1p31F / _mm512_reduce_add_ps(both) / weight_scale_);

  // The table says what each code becomes.
  const TableRegisters then = load_table(then_);
  const __m512i offset = _mm512_set1_epi16(offset_);
  __m512i bytes[4];
#pragma GCC unroll 4
  for (int64_t block = 0; block < 4; ++block) {
    __m512i weights[4];
#pragma GCC unroll 4
    for (int64_t vector = 0; vector < 4; ++vector)
      weights[vector] = _mm512_cvtps_epi32(
          _mm512_mul_ps(_mm512_load_ps(weights_.data() + block * kByteVector + vector * kLanes), factor));
    const __m512i left = _mm512_adds_epi16(_mm512_packs_epi32(weights[0], weights[1]), offset),
                  right = _mm512_adds_epi16(_mm512_packs_epi32(weights[2], weights[3]), offset);
    bytes[block] = found_in(then, _mm512_packus_epi16(left, right));
  }
  const TableRegisters table{bytes[0], bytes[1], bytes[2], bytes[3]};
  __m512i total = _mm512_setzero_si512();
  for (int64_t key = 0; key < keys; key += kByteVector) {
    const __m512i codes = _mm512_sub_epi8(top, _mm512_loadu_si512(row + key));
    const __m512i found = _mm512_maskz_mov_epi8(first_bytes(keys - key), found_in(table, codes));
    total = _mm512_dpbusd_epi32(total, found, ones);
    _mm512_storeu_si512(row + key, found);
  }
  return _mm512_reduce_add_epi32(total);
}

}  // namespace vernier::cpu
