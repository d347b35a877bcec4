#include "vernier/backends/cpu/tiles/byte_end.h"

#include <immintrin.h>

#include <algorithm>

#include "vernier/backends/cpu/tiles/column_pairs.h"

namespace vernier::cpu {

namespace {

// What is done to x before it is rounded.
enum class Adds : uint8_t { kNothing, kResidual, kResidualToRounded };

template <Adds kAdds, bool kSigned>
class Adder {
 public:
  VERNIER_AVX512 Adder(const ByteOutput& output, const ColumnMasks& masks)
      : from_(static_cast<const uint8_t*>(output.residual)),
        stride_(output.stride),
        masks_(masks),
        least_(_mm512_set1_ps(output.least)),
        most_(_mm512_set1_ps(output.most)),
        alpha_(_mm512_set1_ps(output.alpha)),
        beta_(_mm512_set1_ps(output.beta)),
        gamma_(_mm512_set1_ps(output.gamma)) {}

  VERNIER_AVX512 ColumnPair add(const ColumnPair& x, int64_t row) const {
    if constexpr (kAdds == Adds::kNothing) return x;
    const uint8_t* at = from_ + row * stride_;
    return {add(x.first, _mm_maskz_loadu_epi8(masks_.first, at)),
            add(x.second, _mm_maskz_loadu_epi8(masks_.second, at + kColumnLanes))};
  }

 private:
  VERNIER_AVX512 __m512 add(__m512 x, __m128i bytes) const {
    if constexpr (kAdds == Adds::kResidualToRounded) {
      const __m512 rounder = _mm512_set1_ps(0x1.8p23F);  // of what is no larger than 2^22
      x = _mm512_min_ps(_mm512_max_ps(x, least_), most_);
      x = _mm512_sub_ps(_mm512_add_ps(x, rounder), rounder);
    }
    const __m512i wide = kSigned ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(wide), gamma_, _mm512_fmadd_ps(x, alpha_, beta_));
  }

  const uint8_t* from_;
  int64_t stride_;
  ColumnMasks masks_;
  __m512 least_, most_, alpha_, beta_, gamma_;
};

// Two rows at a time, as words: of every eight, four of the first half and four of the second.
template <Adds kAdds, bool kSigned>
VERNIER_AVX512 void store_rows(const ByteOutput& output, int64_t columns, const int32_t* sums, int64_t row,
                               int64_t count) {
  const ColumnMasks masks = column_masks(columns);
  const Adder<kAdds, kSigned> adder(output, masks);
  const __m512 scale = _mm512_loadu_ps(output.scales), scale1 = _mm512_loadu_ps(output.scales + kColumnLanes),
               offset = _mm512_loadu_ps(output.offsets),
               offset1 = _mm512_loadu_ps(output.offsets + kColumnLanes);
  // Signed bytes are kept as 128 more than they are until they are stored.
  const int32_t up = output.is_signed ? 128 : 0;
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(output.zero_point + up)),
                low = _mm512_set1_epi8(static_cast<int8_t>(output.low + up)),
                high = _mm512_set1_epi8(static_cast<int8_t>(output.high + up)),
                flip = _mm512_set1_epi8(static_cast<int8_t>(up)),
                order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto words = [&](int64_t at) VERNIER_AVX512 {
    const int32_t* from = sums + at * kVectorColumns;
    const __m512 x = _mm512_cvtepi32_ps(_mm512_loadu_si512(from)),
                 x1 = _mm512_cvtepi32_ps(_mm512_loadu_si512(from + kColumnLanes));
    const ColumnPair y =
        adder.add({_mm512_fmadd_ps(x, scale, offset), _mm512_fmadd_ps(x1, scale1, offset1)}, at);
    return _mm512_adds_epi16(_mm512_packs_epi32(_mm512_cvtps_epi32(y.first), _mm512_cvtps_epi32(y.second)),
                             zero);
  };
  auto* to = static_cast<uint8_t*>(output.y);
  for (const int64_t last = row + count - 1; row <= last; row += 2) {
    const int64_t next = std::min(row + 1, last);  // the last one may be done twice
    __m512i bytes = _mm512_packus_epi16(words(row), words(next));
    bytes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(bytes, low), high), flip);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    _mm256_mask_storeu_epi8(to + row * output.stride, masks.both, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(to + next * output.stride, masks.both, _mm512_extracti64x4_epi64(bytes, 1));
  }
}

}  // namespace

void ByteEnd::store(const int32_t* sums, int64_t row, int64_t count) const {
  if (output_.residual == nullptr)
    return store_rows<Adds::kNothing, false>(output_, columns_, sums, row, count);
  if (output_.rounds) {
    return output_.residual_is_signed
               ? store_rows<Adds::kResidualToRounded, true>(output_, columns_, sums, row, count)
               : store_rows<Adds::kResidualToRounded, false>(output_, columns_, sums, row, count);
  }
  output_.residual_is_signed ? store_rows<Adds::kResidual, true>(output_, columns_, sums, row, count)
                             : store_rows<Adds::kResidual, false>(output_, columns_, sums, row, count);
}

}  // namespace vernier::cpu
