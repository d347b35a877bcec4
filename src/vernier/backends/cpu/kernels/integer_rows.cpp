#include "vernier/backends/cpu/kernels/integer_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/integer_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Kind = IntegerStep::Kind;
using Ints = hn::RebindToSigned<Floats>;

// Adding this to what is no larger than 2^22 rounds it to an integer, halves to even.
constexpr float kRounder = 0x1.8p23F;

// Loads and stores a vector, or the first elements of one.
struct Whole {
  template <class T>
  HWY_INLINE auto load(const T* from) const {
    return hn::LoadU(hn::Rebind<T, Floats>(), from);
  }
  template <class T, class V>
  HWY_INLINE void store(V v, T* to) const {
    hn::StoreU(v, hn::Rebind<T, Floats>(), to);
  }
};

struct Part {
  size_t count;

  template <class T>
  HWY_INLINE auto load(const T* from) const {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy_n(from, count, buffer);
    return hn::Load(hn::Rebind<T, Floats>(), buffer);
  }
  template <class T, class V>
  HWY_INLINE void store(V v, T* to) const {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, hn::Rebind<T, Floats>(), buffer);
    std::copy_n(buffer, count, to);
  }
};

// The vectors of one column in a few rows, which take each step together.
template <int kCount, class Access>
struct Group {
  Access access;
  int64_t row, column;

  HWY_INLINE int64_t place(int i, int64_t stride) const { return (row + i) * stride + column; }

  template <class T>
  HWY_INLINE void add_bytes(const IntegerStep& step, const void* operand, int64_t stride, Vec* x) const {
    const Floats d;
    const Vec alpha = hn::Set(d, step.alpha), beta = hn::Set(d, step.beta), gamma = hn::Set(d, step.gamma);
    for (int i = 0; i < kCount; ++i) {
      const auto q = access.load(static_cast<const T*>(operand) + place(i, stride));
      x[i] = hn::MulAdd(hn::ConvertTo(d, hn::PromoteTo(Ints(), q)), gamma, hn::MulAdd(x[i], alpha, beta));
    }
  }

  HWY_INLINE void apply(const IntegerStep& step, const void* operand, int64_t stride, Vec* x) const {
    const Floats d;
    const Vec alpha = hn::Set(d, step.alpha), beta = hn::Set(d, step.beta);
    const Vec rounder = hn::Set(d, kRounder);
    switch (step.kind) {
      case Kind::kScale:
        for (int i = 0; i < kCount; ++i) x[i] = hn::Mul(x[i], alpha);
        return;
      case Kind::kLeaky:
        for (int i = 0; i < kCount; ++i)
          x[i] = hn::IfThenElse(hn::Lt(x[i], hn::Zero(d)), hn::Mul(x[i], alpha), x[i]);
        return;
      case Kind::kClamp:
        for (int i = 0; i < kCount; ++i) x[i] = hn::Min(hn::Max(x[i], alpha), beta);
        return;
      case Kind::kRound:
        for (int i = 0; i < kCount; ++i)
          x[i] = hn::Sub(hn::Add(hn::Min(hn::Max(x[i], alpha), beta), rounder), rounder);
        return;
      case Kind::kAddRows:
        return step.element == ElementType::kInt8 ? add_bytes<int8_t>(step, operand, stride, x)
                                                  : add_bytes<uint8_t>(step, operand, stride, x);
      case Kind::kAddColumns:
        for (int i = 0; i < kCount; ++i)
          x[i] = hn::Add(x[i], access.load(static_cast<const float*>(operand) + column));
        return;
    }
  }

  template <class T>
  HWY_INLINE void store_bytes(const IntegerRows& rows, const Vec* x) const {
    const Ints di;
    const auto zero = hn::Set(di, rows.zero_point), low = hn::Set(di, rows.low),
               high = hn::Set(di, rows.high);
    for (int i = 0; i < kCount; ++i) {
      const auto whole = hn::Add(hn::NearestInt(x[i]), zero);
      const auto bytes = hn::DemoteTo(hn::Rebind<T, Floats>(), hn::Min(hn::Max(whole, low), high));
      access.store(bytes, static_cast<T*>(rows.to) + place(i, rows.to_stride));
    }
  }

  HWY_INLINE void finish(std::span<const IntegerStep> steps, const StepOperands& operands,
                         const IntegerRows& rows) const {
    const Floats d;
    Vec x[kCount];
    for (int i = 0; i < kCount; ++i) {
      const auto sum = hn::ConvertTo(d, access.load(rows.sums + place(i, rows.stride)));
      x[i] = hn::MulAdd(sum, access.load(rows.scales + column), access.load(rows.offsets + column));
    }
    for (size_t i = 0; i < steps.size(); ++i) apply(steps[i], operands[i], rows.to_stride, x);
    if (rows.type == ElementType::kUint8) return store_bytes<uint8_t>(rows, x);
    if (rows.type == ElementType::kInt8) return store_bytes<int8_t>(rows, x);
    for (int i = 0; i < kCount; ++i)
      access.store(x[i], static_cast<float*>(rows.to) + place(i, rows.to_stride));
  }
};

template <class Access>
HWY_INLINE void finish_columns(std::span<const IntegerStep> steps, const StepOperands& operands,
                               const IntegerRows& rows, const Access& access, int64_t column) {
  int64_t row = 0;
  for (; row + 4 <= rows.count; row += 4) Group<4, Access>{access, row, column}.finish(steps, operands, rows);
  for (; row < rows.count; ++row) Group<1, Access>{access, row, column}.finish(steps, operands, rows);
}

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

bool finish_common(std::span<const IntegerStep> steps, const StepOperands& operands,
                   const IntegerRows& rows) {
  CommonChain chain;
  if (rows.type == ElementType::kFloat || !CommonChain::fits(steps, operands, chain)) return false;
  rows.type == ElementType::kInt8 ? finish_pairs_to<int8_t>(chain, rows)
                                  : finish_pairs_to<uint8_t>(chain, rows);
  return true;
}
#else
bool finish_common(std::span<const IntegerStep> /*steps*/, const StepOperands& /*operands*/,
                   const IntegerRows& /*rows*/) {
  return false;
}
#endif

}  // namespace

void finish_integers_here(std::span<const IntegerStep> steps, const StepOperands& operands,
                          const IntegerRows& rows) {
  if (finish_common(steps, operands, rows)) return;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t column = 0;
  for (; column + lanes <= rows.columns; column += lanes)
    finish_columns<Whole>(steps, operands, rows, {}, column);
  if (column < rows.columns)
    finish_columns<Part>(steps, operands, rows, {static_cast<size_t>(rows.columns - column)}, column);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(finish_integers_here);

void finish_integers(std::span<const IntegerStep> steps, const StepOperands& operands,
                     const IntegerRows& rows) {
  HWY_DYNAMIC_DISPATCH(finish_integers_here)(steps, operands, rows);
}

}  // namespace vernier::cpu
#endif
