#include "vernier/backends/cpu/epilogue/integer_rows.h"

#include <cstring>

#include "vernier/backends/cpu/epilogue/int8_epilogue.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/epilogue/integer_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

using Kind = IntegerStep::Kind;
using Ints = hn::RebindToSigned<Floats>;

// Adding this to what is no larger than 2^22 rounds it to an integer, ties to even.
inline constexpr float kRounder = 0x1.8p23F;

namespace {

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

#if HWY_TARGET == HWY_AVX2

// Rounds, clamps and stores vectors of four rows. They are narrowed together, which takes about as many
// instructions as one of them alone.
HWY_INLINE void store_four(const IntegerRows& rows, const Vec* x, uint8_t* to) {
  // int8 results are kept as uint8, 128 larger, until they are stored.
  const int32_t up = rows.type == ElementType::kInt8 ? 128 : 0;
  const auto whole = [&](int i) { return _mm256_cvtps_epi32(x[i].raw); };
  const __m256i zero = _mm256_set1_epi16(static_cast<int16_t>(rows.zero_point + up)),
                low = _mm256_set1_epi8(static_cast<int8_t>(rows.low + up)),
                high = _mm256_set1_epi8(static_cast<int8_t>(rows.high + up)),
                flip = _mm256_set1_epi8(static_cast<int8_t>(up)),
                order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32(whole(0), whole(1)), zero),
                b = _mm256_adds_epi16(_mm256_packs_epi32(whole(2), whole(3)), zero);
  __m256i bytes = _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(a, b), low), high);
  // Each half of the register holds four elements of every row.
  bytes = _mm256_permutevar8x32_epi32(_mm256_xor_si256(bytes, flip), order);
  const __m128i first = _mm256_castsi256_si128(bytes), second = _mm256_extracti128_si256(bytes, 1);
  const auto store = [&](int row, int64_t eight) {
    std::memcpy(to + row * rows.to_stride, &eight, sizeof(eight));
  };
  store(0, _mm_cvtsi128_si64(first));
  store(1, _mm_extract_epi64(first, 1));
  store(2, _mm_cvtsi128_si64(second));
  store(3, _mm_extract_epi64(second, 1));
}

#endif

// The vectors of one column in a few rows, which take each step together.
template <int kCount, class Access>
struct Group {
  Access access;
  int64_t row, column;

  HWY_INLINE int64_t place(int i, int64_t stride) const { return (row + i) * stride + column; }

  template <class T>
  HWY_INLINE void add_int8(const IntegerStep& step, const void* operand, int64_t stride, Vec* x) const {
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
        return step.element == ElementType::kInt8 ? add_int8<int8_t>(step, operand, stride, x)
                                                  : add_int8<uint8_t>(step, operand, stride, x);
      case Kind::kAddColumns:
        for (int i = 0; i < kCount; ++i)
          x[i] = hn::Add(x[i], access.load(static_cast<const float*>(operand) + column));
        return;
    }
  }

  template <class T>
  HWY_INLINE void store_int8(const IntegerRows& rows, const Vec* x) const {
#if HWY_TARGET == HWY_AVX2
    if constexpr (kCount == 4 && std::is_same_v<Access, Whole>)
      return store_four(rows, x, static_cast<uint8_t*>(rows.to) + place(0, rows.to_stride));
#endif
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
    if (rows.type == ElementType::kUint8) return store_int8<uint8_t>(rows, x);
    if (rows.type == ElementType::kInt8) return store_int8<int8_t>(rows, x);
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

}  // namespace

void finish_integers_here(std::span<const IntegerStep> steps, const StepOperands& operands,
                          const IntegerRows& rows) {
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
  if (const auto end = Int8Epilogue::of(steps, operands, rows)) return end->store(0, rows.count);
  HWY_DYNAMIC_DISPATCH(finish_integers_here)(steps, operands, rows);
}

}  // namespace vernier::cpu
#endif
