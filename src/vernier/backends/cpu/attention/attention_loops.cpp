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

float finish_scores(float* scores, int64_t count, const ScoreEdits& edits) {
  return HWY_DYNAMIC_DISPATCH(finish_scores)(scores, count, edits);
}

}  // namespace vernier::cpu
#endif  // HWY_ONCE
