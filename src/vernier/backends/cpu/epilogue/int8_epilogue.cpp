#include "vernier/backends/cpu/epilogue/int8_epilogue.h"

#include <algorithm>

#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/vector_instructions.h"

#define VERNIER_AVX512_CORE VERNIER_TARGET("avx512f,avx512bw,avx512dq,avx512vl")

namespace vernier::cpu {

namespace {

constexpr int64_t kHalf = 16;
enum class Added : uint8_t { kNothing, kUnsigned, kSigned };  // uint8, int8

}  // namespace

struct Int8EpilogueLoops {
  struct Rounder {
    __m512 least, most;

    VERNIER_AVX512_CORE explicit Rounder(const std::optional<Int8Epilogue::Rounding>& rounding)
        : least(_mm512_set1_ps(rounding ? rounding->least : 0)),
          most(_mm512_set1_ps(rounding ? rounding->most : 0)) {}

    VERNIER_AVX512_CORE __m512 of(__m512 x) const {
      const __m512 rounder = _mm512_set1_ps(0x1.8p23F);  // of what is no larger than 2^22
      return _mm512_sub_ps(_mm512_add_ps(_mm512_min_ps(_mm512_max_ps(x, least), most), rounder), rounder);
    }
  };

  // Half of the columns of a row.
  template <bool kRound, bool kColumns, Added kAdded>
  class Half {
   public:
    VERNIER_AVX512_CORE Half(const Int8Epilogue& end, int64_t first)
        : scale_(_mm512_loadu_ps(end.rows_.scales + first)),
          offset_(_mm512_loadu_ps(end.rows_.offsets + first)),
          sums_(end.rows_.sums + first),
          sums_stride_(end.rows_.stride),
          mask_(static_cast<__mmask16>(((uint64_t{1} << end.rows_.columns) - 1) >> first)),
          round_(end.round_),
          again_(end.again_) {
      if constexpr (kColumns) {
        columns_ = _mm512_maskz_loadu_ps(mask_, end.columns_ + first);
        unit_ = _mm512_set1_ps(end.scale_);
      }
      if constexpr (kAdded != Added::kNothing) {
        alpha_ = _mm512_set1_ps(end.add_->alpha);
        beta_ = _mm512_set1_ps(end.add_->beta);
        gamma_ = _mm512_set1_ps(end.add_->gamma);
        added_ = static_cast<const uint8_t*>(end.added_) + first;
        added_stride_ = end.rows_.to_stride;
      }
    }

    VERNIER_AVX512_CORE __m512i whole(int64_t row) const {
      __m512 x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums_ + row * sums_stride_)), scale_,
                                 offset_);
      if constexpr (kRound) x = round_.of(x);
      if constexpr (kColumns) {
        x = _mm512_mul_ps(_mm512_add_ps(x, columns_), unit_);
        if constexpr (kAdded != Added::kNothing) x = again_.of(x);
      }
      if constexpr (kAdded != Added::kNothing) {
        const __m128i bytes = _mm_maskz_loadu_epi8(mask_, added_ + row * added_stride_);
        const __m512i q =
            kAdded == Added::kSigned ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(q), gamma_, _mm512_fmadd_ps(x, alpha_, beta_));
      }
      return _mm512_cvtps_epi32(x);
    }

   private:
    __m512 scale_, offset_;
    const int32_t* sums_;
    int64_t sums_stride_;
    __mmask16 mask_;
    Rounder round_, again_;
    __m512 columns_, unit_, alpha_, beta_, gamma_;
    const uint8_t* added_;
    int64_t added_stride_;
  };

  template <bool kRound, bool kColumns, Added kAdded>
  VERNIER_AVX512_CORE static void store(const Int8Epilogue& end, int64_t row, int64_t count) {
    const Half<kRound, kColumns, kAdded> first(end, 0), second(end, kHalf);
    const IntegerRows& rows = end.rows_;
    // int8 results are kept as uint8, 128 larger, until they are stored.
    const int32_t up = rows.type == ElementType::kInt8 ? 128 : 0;
    const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(rows.zero_point + up)),
                  low = _mm512_set1_epi8(static_cast<int8_t>(rows.low + up)),
                  high = _mm512_set1_epi8(static_cast<int8_t>(rows.high + up)),
                  flip = _mm512_set1_epi8(static_cast<int8_t>(up)),
                  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto mask = static_cast<__mmask32>((uint64_t{1} << rows.columns) - 1);
    auto* to = static_cast<uint8_t*>(rows.to);
    // Two rows as words: of every eight, four of the first half and four of the second.
    for (const int64_t last = row + count - 1; row <= last; row += 2) {
      const int64_t next = std::min(row + 1, last);  // the last one may be done twice
      const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(first.whole(row), second.whole(row)), zero),
                    b = _mm512_adds_epi16(_mm512_packs_epi32(first.whole(next), second.whole(next)), zero);
      __m512i bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
      bytes = _mm512_permutexvar_epi32(order, _mm512_xor_si512(bytes, flip));
      _mm256_mask_storeu_epi8(to + row * rows.to_stride, mask, _mm512_castsi512_si256(bytes));
      _mm256_mask_storeu_epi8(to + next * rows.to_stride, mask, _mm512_extracti64x4_epi64(bytes, 1));
    }
  }

  template <bool kRound, bool kColumns>
  static Int8Epilogue::Store adding(const IntegerStep& add) {
    return add.element == ElementType::kInt8 ? store<kRound, kColumns, Added::kSigned>
                                             : store<kRound, kColumns, Added::kUnsigned>;
  }

  static Int8Epilogue::Store of(const Int8Epilogue& end) {
    if (end.add_ == nullptr)
      return end.columns_ == nullptr ? store<false, false, Added::kNothing>
                                     : store<true, true, Added::kNothing>;
    if (end.columns_ != nullptr) return adding<true, true>(*end.add_);
    return end.round_ ? adding<true, false>(*end.add_) : adding<false, false>(*end.add_);
  }
};

std::optional<Int8Epilogue> Int8Epilogue::of(std::span<const IntegerStep> steps, const StepOperands& operands,
                                             const IntegerRows& rows) {
  if (!has(Feature::kAvx512) || rows.type == ElementType::kFloat) return std::nullopt;
  using Kind = IntegerStep::Kind;
  Int8Epilogue end;
  end.rows_ = rows;
  size_t i = 0;
  const auto next_is = [&](Kind kind) { return i < steps.size() && steps[i].kind == kind; };
  const auto rounding = [&]() -> std::optional<Rounding> {
    if (!next_is(Kind::kRound)) return std::nullopt;
    const IntegerStep& step = steps[i++];
    return Rounding{step.alpha, step.beta};
  };
  end.round_ = rounding();
  if (end.round_ && next_is(Kind::kAddColumns)) {
    end.columns_ = static_cast<const float*>(operands[i++]);
    if (next_is(Kind::kScale)) end.scale_ = steps[i++].alpha;
    end.again_ = rounding();
  }
  if (next_is(Kind::kAddRows)) {
    end.added_ = operands[i];
    end.add_ = &steps[i++];
  }
  const bool fits = end.columns_ != nullptr ? end.again_.has_value() == (end.add_ != nullptr)
                                            : !end.round_ || end.add_ != nullptr;
  if (i < steps.size() || !fits) return std::nullopt;
  end.store_ = Int8EpilogueLoops::of(end);
  return end;
}

}  // namespace vernier::cpu
