// The steps that most products of bytes end with (integer_rows.h), as one loop over pairs of rows. Included
// once for each instruction set, after float_vectors-inl.h.
#if defined(VERNIER_INTEGER_CHAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_INTEGER_CHAIN_INL_H
#undef VERNIER_INTEGER_CHAIN_INL_H
#else
#define VERNIER_INTEGER_CHAIN_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

using Kind = IntegerStep::Kind;
using Ints = hn::RebindToSigned<Floats>;

// Adding this to what is no larger than 2^22 rounds it to an integer, halves to even.
inline constexpr float kRounder = 0x1.8p23F;

// finish_common() does nothing, and says so, where the steps are others.
#if HWY_TARGET <= HWY_AVX3
// The common chains, for pairs of rows of up to 32 bytes: nothing, or the addition of bytes (`Q`) to what is
// rounded before, or is not; and numbers of columns, added to what is rounded and rounded again.
struct CommonChain {
  const IntegerStep *round = nullptr, *add = nullptr, *again = nullptr;
  const void* added = nullptr;
  const float* columns = nullptr;
  float scale = 1;  // of what columns were added to

  static bool fits(std::span<const IntegerStep> steps, const StepOperands& operands, CommonChain& chain) {
    size_t i = 0;
    const auto next_is = [&](Kind kind) { return i < steps.size() && steps[i].kind == kind; };
    if (next_is(Kind::kRound)) chain.round = &steps[i++];
    if (chain.round != nullptr && next_is(Kind::kAddColumns)) {
      chain.columns = static_cast<const float*>(operands[i++]);
      if (next_is(Kind::kScale)) chain.scale = steps[i++].alpha;
      if (next_is(Kind::kRound)) chain.again = &steps[i++];
    }
    if (next_is(Kind::kAddRows)) {
      chain.added = operands[i];
      chain.add = &steps[i++];
    }
    if (i < steps.size()) return false;
    if (chain.columns != nullptr) return (chain.again != nullptr) == (chain.add != nullptr);
    return chain.round == nullptr || chain.add != nullptr;
  }
};

// Between bounds and to nearest even.
struct Rounder {
  Vec least, most;

  HWY_INLINE void take(const IntegerStep& step) {
    least = hn::Set(Floats(), step.alpha);
    most = hn::Set(Floats(), step.beta);
  }
  HWY_INLINE Vec of(Vec x) const {
    const Vec rounder = hn::Set(Floats(), kRounder);
    return hn::Sub(hn::Add(hn::Min(hn::Max(x, least), most), rounder), rounder);
  }
};

// Halves of a row of 32.
struct Halves {
  explicit Halves(int64_t columns) : all((uint64_t{1} << columns) - 1) {}
  __mmask16 of(int64_t half) const { return static_cast<__mmask16>(all >> (16 * half)); }
  uint64_t all;
};

template <bool kRound, bool kColumns, class Q>
class Adder {
 public:
  Adder(const CommonChain& chain, const IntegerRows& rows) : halves_(rows.columns), stride_(rows.to_stride) {
    const Floats d;
    if constexpr (kRound) round_.take(*chain.round);
    if constexpr (kColumns) {
      for (int64_t half = 0; half < 2; ++half)
        columns_[half] = Vec{_mm512_maskz_loadu_ps(halves_.of(half), chain.columns + half * 16)};
      scale_ = hn::Set(d, chain.scale);
      if constexpr (!std::is_void_v<Q>) again_.take(*chain.again);
    }
    if constexpr (!std::is_void_v<Q>) {
      alpha_ = hn::Set(d, chain.add->alpha);
      beta_ = hn::Set(d, chain.add->beta);
      gamma_ = hn::Set(d, chain.add->gamma);
      from_ = static_cast<const Q*>(chain.added);
    }
  }

  HWY_INLINE Vec add(Vec x, int64_t row, int64_t half) const {
    if constexpr (kRound) x = round_.of(x);
    if constexpr (kColumns) {
      x = hn::Mul(hn::Add(x, columns_[half]), scale_);
      if constexpr (!std::is_void_v<Q>) x = again_.of(x);
    }
    if constexpr (!std::is_void_v<Q>) {
      const hn::Rebind<Q, Floats> bytes;
      const hn::Vec<decltype(bytes)> q{
          _mm_maskz_loadu_epi8(halves_.of(half), from_ + row * stride_ + half * 16)};
      x = hn::MulAdd(hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), q)), gamma_, hn::MulAdd(x, alpha_, beta_));
    }
    return x;
  }

 private:
  Halves halves_;
  int64_t stride_;
  Rounder round_, again_;
  Vec columns_[2], scale_, alpha_, beta_, gamma_;
  const Q* from_ = nullptr;
};

template <class T, bool kRound, bool kColumns, class Q>
void finish_pairs(const CommonChain& chain, const IntegerRows& rows) {
  const Floats d;
  const Ints di;
  const Adder<kRound, kColumns, Q> adder(chain, rows);
  const Vec scale0 = hn::LoadU(d, rows.scales), scale1 = hn::LoadU(d, rows.scales + 16),
            offset0 = hn::LoadU(d, rows.offsets), offset1 = hn::LoadU(d, rows.offsets + 16);
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(rows.zero_point)),
                low = _mm512_set1_epi8(static_cast<int8_t>(rows.low)),
                high = _mm512_set1_epi8(static_cast<int8_t>(rows.high)),
                order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto mask = static_cast<__mmask32>(Halves(rows.columns).all);
  const int64_t stride = rows.to_stride, sums_stride = rows.stride, count = rows.count;
  const int32_t* sums = rows.sums;
  T* to = static_cast<T*>(rows.to);
  // A row as words: of every eight, four of the first half and four of the second.
  const auto words = [&](int64_t row) HWY_ATTR {
    const int32_t* at = sums + row * sums_stride;
    const Vec x0 = hn::ConvertTo(d, hn::LoadU(di, at)), x1 = hn::ConvertTo(d, hn::LoadU(di, at + 16));
    const Vec y0 = adder.add(hn::MulAdd(x0, scale0, offset0), row, 0),
              y1 = adder.add(hn::MulAdd(x1, scale1, offset1), row, 1);
    return _mm512_adds_epi16(_mm512_packs_epi32(_mm512_cvtps_epi32(y0.raw), _mm512_cvtps_epi32(y1.raw)),
                             zero);
  };
  for (int64_t row = 0; row < count; row += 2) {
    const int64_t next = std::min(row + 1, count - 1);  // the last one may be done twice
    const __m512i a = words(row), b = words(next);
    __m512i bytes;
    if constexpr (std::is_signed_v<T>)
      bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), low), high);
    else
      bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    _mm256_mask_storeu_epi8(to + row * stride, mask, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(to + next * stride, mask, _mm512_extracti64x4_epi64(bytes, 1));
  }
}

template <class T, bool kRound, bool kColumns>
void finish_pairs_adding(const CommonChain& chain, const IntegerRows& rows) {
  chain.add->element == ElementType::kInt8 ? finish_pairs<T, kRound, kColumns, int8_t>(chain, rows)
                                           : finish_pairs<T, kRound, kColumns, uint8_t>(chain, rows);
}

template <class T>
void finish_pairs_to(const CommonChain& chain, const IntegerRows& rows) {
  const bool columns = chain.columns != nullptr;
  if (chain.add == nullptr)
    return columns ? finish_pairs<T, true, true, void>(chain, rows)
                   : finish_pairs<T, false, false, void>(chain, rows);
  if (columns) return finish_pairs_adding<T, true, true>(chain, rows);
  chain.round == nullptr ? finish_pairs_adding<T, false, false>(chain, rows)
                         : finish_pairs_adding<T, true, false>(chain, rows);
}

HWY_INLINE bool finish_common(std::span<const IntegerStep> steps, const StepOperands& operands,
                              const IntegerRows& rows) {
  CommonChain chain;
  if (rows.type == ElementType::kFloat || !CommonChain::fits(steps, operands, chain)) return false;
  rows.type == ElementType::kInt8 ? finish_pairs_to<int8_t>(chain, rows)
                                  : finish_pairs_to<uint8_t>(chain, rows);
  return true;
}
#else
HWY_INLINE bool finish_common(std::span<const IntegerStep> /*steps*/, const StepOperands& /*operands*/,
                              const IntegerRows& /*rows*/) {
  return false;
}
#endif

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
