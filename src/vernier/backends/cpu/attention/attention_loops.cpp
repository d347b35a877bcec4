#include "vernier/backends/cpu/attention/attention_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/attention/attention_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// As many sums as registers hold beside the operands.
#if HWY_TARGET <= HWY_AVX3
constexpr int kMaxVectors = 4, kMaxRows = 6;
#else
constexpr int kMaxVectors = 2, kMaxRows = 6;
#endif

template <int kRows, int kVectors>
void multiply_tile(const float* a, int64_t a_stride, int64_t depth, const float* panel, float* c,
                   int64_t c_stride, bool adds) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vec sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n)
      sums[r][n] = adds ? hn::LoadU(d, c + r * c_stride + n * lanes) : hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k, panel += kVectors * lanes) {
    Vec b[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) b[n] = hn::LoadU(d, panel + n * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec left = hn::Set(d, a[r * a_stride + k]);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) sums[r][n] = hn::MulAdd(left, b[n], sums[r][n]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) hn::StoreU(sums[r][n], d, c + r * c_stride + n * lanes);
  }
}

template <int kVectors>
void multiply_rows(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* panel,
                   float* c, int64_t c_stride, bool adds) {
  int64_t row = 0;
  const auto tiles = [&]<int kRows>() HWY_ATTR {
    for (; row + kRows <= rows; row += kRows)
      multiply_tile<kRows, kVectors>(a + row * a_stride, a_stride, depth, panel, c + row * c_stride, c_stride,
                                     adds);
  };
  tiles.template operator()<kMaxRows>();
  tiles.template operator()<4>();
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

// kRows rows at a time share the vectors of x.
template <int kRows>
HWY_INLINE void multiply_some_rows(const float* x, int64_t size, const float* rows, int64_t stride,
                                   float* products) {
  const Floats d;
  Vec sums[kRows];
#pragma GCC unroll 8
  for (Vec& sum : sums) sum = hn::Zero(d);
  for_each_vector(size, [&](int64_t at, const auto& load, const auto&) HWY_ATTR {
    const Vec factor = load(x + at);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(factor, load(rows + r * stride + at), sums[r]);
  });
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) products[r] = hn::GetLane(hn::SumOfLanes(d, sums[r]));
}

// kVectors vectors of columns.
template <int kVectors, class Load>
HWY_INLINE void weigh_columns(const float* weights, int64_t count, const float* rows, int64_t stride,
                              const Load& load, float* sums, bool adds) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vec kept[kVectors];
#pragma GCC unroll 8
  for (int n = 0; n < kVectors; ++n) kept[n] = adds ? hn::LoadU(d, sums + n * lanes) : hn::Zero(d);
  for (int64_t row = 0; row < count; ++row, rows += stride) {
    const Vec weight = hn::Set(d, weights[row]);
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) kept[n] = hn::MulAdd(weight, load(rows + n * lanes), kept[n]);
  }
#pragma GCC unroll 8
  for (int n = 0; n < kVectors; ++n) hn::StoreU(kept[n], d, sums + n * lanes);
}

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Minus infinity where the flag is 0; of flags there are `count`, or more than a vector.
HWY_INLINE Vec allow(Vec x, const uint8_t* flags, int64_t count) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const hn::Rebind<uint8_t, Floats> du8;
  HWY_ALIGN uint8_t some[HWY_MAX_BYTES / sizeof(float)] = {};
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) some[i] = flags[i];
    flags = some;
  }
  const auto forbidden = hn::Eq(hn::PromoteTo(di, hn::LoadU(du8, flags)), hn::Zero(di));
  return hn::IfThenElse(hn::RebindMask(d, forbidden), hn::Set(d, kNothing), x);
}

template <class Edit>
HWY_INLINE float finish_scores_by(float* scores, int64_t count, const ScoreEdits& edits, const Edit& edit) {
  const Floats d;
  const Vec times = hn::Set(d, edits.scale), plus = hn::Set(d, edits.shift), least = hn::Set(d, kNothing);
  Vec top = least;
  auto no_numbers = hn::Ne(least, least);
  for_each_vector(count, [&](int64_t at, const auto& load, const auto& store) HWY_ATTR {
    const Vec x = edit(hn::MulAdd(load(scores + at), times, plus), at, load);
    store(x, scores + at);
    const Vec counted = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count - at)), x, least);
    no_numbers = hn::Or(no_numbers, hn::IsNaN(counted));
    top = hn::Max(top, counted);
  });
  if (!hn::AllFalse(d, no_numbers)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

}  // namespace

int64_t vector_width() {
  return static_cast<int64_t>(hn::Lanes(Floats()));
}

int64_t panel_width() {
  return kMaxVectors * vector_width();
}

void multiply_panel(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* panel,
                    int64_t width, float* c, int64_t c_stride, bool adds) {
  switch (width / vector_width()) {
    case 1: return multiply_rows<1>(a, a_stride, rows, depth, panel, c, c_stride, adds);
    case 2: return multiply_rows<2>(a, a_stride, rows, depth, panel, c, c_stride, adds);
#if HWY_TARGET <= HWY_AVX3
    case 3: return multiply_rows<3>(a, a_stride, rows, depth, panel, c, c_stride, adds);
    case 4: return multiply_rows<4>(a, a_stride, rows, depth, panel, c, c_stride, adds);
#endif
    default: return;
  }
}

void multiply_rows_in_place(const float* x, int64_t size, const float* rows, int64_t stride, int64_t count,
                            float* products) {
  constexpr int kRows = 4;
  int64_t row = 0;
  for (; row + kRows <= count; row += kRows)
    multiply_some_rows<kRows>(x, size, rows + row * stride, stride, products + row);
  for (; row < count; ++row) multiply_some_rows<1>(x, size, rows + row * stride, stride, products + row);
}

void weigh_rows_in_place(const float* weights, int64_t count, const float* rows, int64_t stride, int64_t size,
                         float* sums, bool adds) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t column = 0;
  const auto whole = [&]<int kVectors>() HWY_ATTR {
    for (; column + kVectors * lanes <= size; column += kVectors * lanes)
      weigh_columns<kVectors>(
          weights, count, rows + column, stride, [d](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
          sums + column, adds);
  };
  whole.template operator()<8>();
  whole.template operator()<4>();
  whole.template operator()<1>();
  if (column == size) return;
  const auto rest = static_cast<size_t>(size - column);
  weigh_columns<1>(
      weights, count, rows + column, stride, [rest](const float* p) HWY_ATTR { return load_some(p, rest); },
      sums + column, adds);
}

float finish_scores(float* scores, int64_t count, const ScoreEdits& edits) {
  if (edits.bias != nullptr) {
    return finish_scores_by(scores, count, edits, [&](Vec x, int64_t at, const auto& load) HWY_ATTR {
      return hn::Add(x, load(edits.bias + at));
    });
  }
  if (edits.allowed != nullptr) {
    return finish_scores_by(scores, count, edits, [&](Vec x, int64_t at, const auto&) HWY_ATTR {
      return allow(x, edits.allowed + at, count - at);
    });
  }
  return finish_scores_by(scores, count, edits, [](Vec x, int64_t, const auto&) HWY_ATTR { return x; });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(vector_width);
HWY_EXPORT(panel_width);
HWY_EXPORT(multiply_panel);
HWY_EXPORT(multiply_rows_in_place);
HWY_EXPORT(weigh_rows_in_place);
HWY_EXPORT(finish_scores);

int64_t vector_width() {
  return HWY_DYNAMIC_DISPATCH(vector_width)();
}
int64_t panel_width() {
  return HWY_DYNAMIC_DISPATCH(panel_width)();
}
void multiply_panel(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* panel,
                    int64_t width, float* c, int64_t c_stride, bool adds) {
  HWY_DYNAMIC_DISPATCH(multiply_panel)(a, a_stride, rows, depth, panel, width, c, c_stride, adds);
}
void multiply_rows_in_place(const float* x, int64_t size, const float* rows, int64_t stride, int64_t count,
                            float* products) {
  HWY_DYNAMIC_DISPATCH(multiply_rows_in_place)(x, size, rows, stride, count, products);
}
void weigh_rows_in_place(const float* weights, int64_t count, const float* rows, int64_t stride, int64_t size,
                         float* sums, bool adds) {
  HWY_DYNAMIC_DISPATCH(weigh_rows_in_place)(weights, count, rows, stride, size, sums, adds);
}
float finish_scores(float* scores, int64_t count, const ScoreEdits& edits) {
  return HWY_DYNAMIC_DISPATCH(finish_scores)(scores, count, edits);
}

}  // namespace vernier::cpu
#endif  // HWY_ONCE
