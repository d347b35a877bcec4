#include "vernier/backends/cpu/kernels/attention_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/attention_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/float_vectors-inl.h"

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

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(vector_width);
HWY_EXPORT(panel_width);
HWY_EXPORT(multiply_panel);

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

}  // namespace vernier::cpu
#endif  // HWY_ONCE
