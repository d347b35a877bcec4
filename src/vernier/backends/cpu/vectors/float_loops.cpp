#include "vernier/backends/cpu/vectors/float_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/vectors/float_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// The folds: what of an element, joined how, starting where.
template <Fold kFold>
struct Folding {
  static HWY_INLINE Vec map(Vec x, [[maybe_unused]] Vec shift) {
    if constexpr (kFold == Fold::kAbsolute) return hn::Abs(x);
    if constexpr (kFold == Fold::kExp) return exp_negative(hn::Sub(x, shift));
    if constexpr (kFold == Fold::kSquare) {
      const Vec distance = hn::Sub(x, shift);
      return hn::Mul(distance, distance);
    }
    return x;
  }
  static HWY_INLINE Vec join(Vec a, Vec b) {
    if constexpr (kFold == Fold::kProduct) return hn::Mul(a, b);
    if constexpr (kFold == Fold::kMax) return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
    if constexpr (kFold == Fold::kMin) return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
    return hn::Add(a, b);
  }
  static HWY_INLINE float join_lanes(Vec v) {
    if constexpr (kFold < Fold::kProduct) return sum_of(v);
    if constexpr (kFold > Fold::kProduct) {
      const Floats d;
      if (!hn::AllFalse(d, hn::IsNaN(v))) return std::numeric_limits<float>::quiet_NaN();
      return hn::GetLane(kFold == Fold::kMax ? hn::MaxOfLanes(d, v) : hn::MinOfLanes(d, v));
    }
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, Floats(), lanes);
    double result = identity_of(kFold);
    for (size_t i = 0; i < hn::Lanes(Floats()); ++i) result = joined(kFold, result, lanes[i]);
    return static_cast<float>(result);
  }
};

template <Fold kFold>
HWY_INLINE float fold_row_by(const float* x, int64_t count, float shift) {
  using F = Folding<kFold>;
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vec away = hn::Set(d, shift), start = hn::Set(d, identity_of(kFold));
  Vec sums[4] = {start, start, start, start};
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int64_t k = 0; k < 4; ++k) sums[k] = F::join(sums[k], F::map(hn::LoadU(d, x + i + k * lanes), away));
  }
  for (int64_t k = 0; i + lanes <= count; i += lanes, ++k)
    sums[k] = F::join(sums[k], F::map(hn::LoadU(d, x + i), away));
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    const Vec last = F::map(load_some(x + i, rest), away);
    sums[3] = F::join(sums[3], hn::IfThenElse(hn::FirstN(d, rest), last, start));
  }
  return F::join_lanes(F::join(F::join(sums[0], sums[1]), F::join(sums[2], sums[3])));
}

template <Fold kFold>
HWY_INLINE void fold_columns_by(const float* x, int64_t rows, int64_t stride, int64_t columns,
                                const float* shift, float* result) {
  using F = Folding<kFold>;
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vec start = hn::Set(d, identity_of(kFold));
  int64_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes) {
    Vec sums[4] = {start, start, start, start}, away[4] = {start, start, start, start};
    for (int64_t k = 0; k < 4; ++k) {
      if (shift != nullptr) away[k] = hn::LoadU(d, shift + c + k * lanes);
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < 4; ++k)
        sums[k] = F::join(sums[k], F::map(hn::LoadU(d, x + row * stride + c + k * lanes), away[k]));
    }
    for (int64_t k = 0; k < 4; ++k) hn::StoreU(sums[k], d, result + c + k * lanes);
  }
  for_each_vector(columns - c, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    Vec sum = start;
    const Vec away = shift != nullptr ? load(shift + c + at) : start;
    for (int64_t row = 0; row < rows; ++row)
      sum = F::join(sum, F::map(load(x + row * stride + c + at), away));
    store(sum, result + c + at);
  });
}

}  // namespace

// Calls f.template operator()<fold>().
#define VERNIER_FOR_FOLD(fold, call)                                      \
  switch (fold) {                                                         \
    case Fold::kSum: return call<Fold::kSum> VERNIER_ARGUMENTS;           \
    case Fold::kAbsolute: return call<Fold::kAbsolute> VERNIER_ARGUMENTS; \
    case Fold::kSquare: return call<Fold::kSquare> VERNIER_ARGUMENTS;     \
    case Fold::kExp: return call<Fold::kExp> VERNIER_ARGUMENTS;           \
    case Fold::kProduct: return call<Fold::kProduct> VERNIER_ARGUMENTS;   \
    case Fold::kMax: return call<Fold::kMax> VERNIER_ARGUMENTS;           \
    default: return call<Fold::kMin> VERNIER_ARGUMENTS;                   \
  }

float fold_row(Fold fold, const float* x, int64_t count, float shift) {
#define VERNIER_ARGUMENTS (x, count, shift)
  VERNIER_FOR_FOLD(fold, fold_row_by)
#undef VERNIER_ARGUMENTS
}

void fold_columns(Fold fold, const float* x, int64_t rows, int64_t stride, int64_t columns,
                  const float* shift, float* result) {
#define VERNIER_ARGUMENTS (x, rows, stride, columns, shift, result)
  VERNIER_FOR_FOLD(fold, fold_columns_by)
#undef VERNIER_ARGUMENTS
}
#undef VERNIER_FOR_FOLD

float exp_row(const float* x, int64_t count, float shift, float* y) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vec away = hn::Set(d, shift);
  Vec sums[2] = {hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    for (int64_t k = 0; k < 2; ++k) {
      const Vec e = exp_negative(hn::Sub(hn::LoadU(d, x + i + k * lanes), away));
      hn::StoreU(e, d, y + i + k * lanes);
      sums[k] = hn::Add(sums[k], e);
    }
  }
  for_each_vector(count - i, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    const Vec e = exp_negative(hn::Sub(load(x + i + at), away));
    store(e, y + i + at);
    const auto left = static_cast<size_t>(count - i - at);
    sums[1] = hn::Add(sums[1], hn::IfThenElseZero(hn::FirstN(d, left), e));
  });
  return sum_of(hn::Add(sums[0], sums[1]));
}

void affine_row(const float* x, int64_t count, float mean, float factor, float shift, float* y) {
  const Floats d;
  const Vec away = hn::Set(d, mean), times = hn::Set(d, factor), plus = hn::Set(d, shift);
  for_each_vector(count, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    store(hn::MulAdd(hn::Sub(load(x + at), away), times, plus), y + at);
  });
}

void softmax_row(const float* x, int64_t count, float* y) {
  const float top = fold_row_by<Fold::kMax>(x, count, 0);
  const float sum = exp_row(x, count, top, y);
  affine_row(y, count, 0, 1 / sum, 0, y);
}

void softmax_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, float* y) {
  const Floats d;
  for_each_vector(columns, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    Vec top = load(x + at);
    for (int64_t row = 1; row < rows; ++row)
      top = Folding<Fold::kMax>::join(top, load(x + row * stride + at));
    Vec sum = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row) {
      const Vec e = exp_negative(hn::Sub(load(x + row * stride + at), top));
      sum = hn::Add(sum, e);
      store(e, y + row * stride + at);
    }
    const Vec factor = hn::Div(hn::Set(d, 1), sum);
    for (int64_t row = 0; row < rows; ++row)
      store(hn::Mul(load(y + row * stride + at), factor), y + row * stride + at);
  });
}

void normalise_row(const float* x, int64_t count, float mean, float factor, const float* scale,
                   const float* bias, float* y) {
  const Floats d;
  const Vec away = hn::Set(d, mean), times = hn::Set(d, factor), none = hn::Zero(d);
  for_each_vector(count, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    const Vec unit = hn::Mul(hn::Sub(load(x + at), away), times);
    store(hn::MulAdd(unit, load(scale + at), bias != nullptr ? load(bias + at) : none), y + at);
  });
}

void affine_each(const float* x, int64_t count, const float* mean, const float* factor, const float* shift,
                 float* y) {
  for_each_vector(count, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    store(hn::MulAdd(hn::Sub(load(x + at), load(mean + at)), load(factor + at), load(shift + at)), y + at);
  });
}

void add_rows(const float* a, const float* b, int64_t count, float* y) {
  for_each_vector(count, [&](int64_t at, const auto& load, const auto& store)
                             HWY_ATTR { store(hn::Add(load(a + at), load(b + at)), y + at); });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(fold_row);
HWY_EXPORT(fold_columns);
HWY_EXPORT(exp_row);
HWY_EXPORT(softmax_row);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(affine_row);
HWY_EXPORT(normalise_row);
HWY_EXPORT(affine_each);
HWY_EXPORT(add_rows);

float fold_row(Fold fold, const float* x, int64_t count, float shift) {
  return HWY_DYNAMIC_DISPATCH(fold_row)(fold, x, count, shift);
}
void fold_columns(Fold fold, const float* x, int64_t rows, int64_t stride, int64_t columns,
                  const float* shift, float* result) {
  HWY_DYNAMIC_DISPATCH(fold_columns)(fold, x, rows, stride, columns, shift, result);
}
float exp_row(const float* x, int64_t count, float shift, float* y) {
  return HWY_DYNAMIC_DISPATCH(exp_row)(x, count, shift, y);
}
void softmax_row(const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax_row)(x, count, y);
}
void softmax_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax_columns)(x, rows, stride, columns, y);
}
void affine_row(const float* x, int64_t count, float mean, float factor, float shift, float* y) {
  HWY_DYNAMIC_DISPATCH(affine_row)(x, count, mean, factor, shift, y);
}
void normalise_row(const float* x, int64_t count, float mean, float factor, const float* scale,
                   const float* bias, float* y) {
  HWY_DYNAMIC_DISPATCH(normalise_row)(x, count, mean, factor, scale, bias, y);
}
void affine_each(const float* x, int64_t count, const float* mean, const float* factor, const float* shift,
                 float* y) {
  HWY_DYNAMIC_DISPATCH(affine_each)(x, count, mean, factor, shift, y);
}
void add_rows(const float* a, const float* b, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(add_rows)(a, b, count, y);
}
float identity_of(Fold fold) {
  switch (fold) {
    case Fold::kProduct: return 1;
    case Fold::kMax: return -std::numeric_limits<float>::infinity();
    case Fold::kMin: return std::numeric_limits<float>::infinity();
    default: return 0;
  }
}

double joined(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::kProduct: return a * b;
    case Fold::kMax: return a >= b || std::isnan(a) ? a : b;
    case Fold::kMin: return a <= b || std::isnan(a) ? a : b;
    default: return a + b;
  }
}

}  // namespace vernier::cpu
#endif  // HWY_ONCE
