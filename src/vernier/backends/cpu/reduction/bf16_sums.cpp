#include <algorithm>

#include "vernier/backends/cpu/reduction/column_fold.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/reduction/bf16_sums.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

void sum_columns_bf16_here(const uint16_t* x, int64_t rows, int64_t stride, int64_t columns, float* sums) {
  constexpr int64_t kVectors = 4;  // side by side: sums wait for each other
  constexpr auto kElement = ElementType::kBFloat16;
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t column = 0;
  for (; column + kVectors * lanes <= columns; column += kVectors * lanes) {
    Vec sum[kVectors] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < kVectors; ++k)
        sum[k] = hn::Add(sum[k], WholeVector().load(kElement, x, row * stride + column + k * lanes));
    }
    for (int64_t k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, sums + column + k * lanes);
  }
  for_each_stored(columns - column, [&](int64_t at, const auto& vector) HWY_ATTR {
    Vec sum = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row)
      sum = hn::Add(sum, vector.load(kElement, x, row * stride + column + at));
    vector.store(sum, ElementType::kFloat, sums, column + at);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(sum_columns_bf16_here);

void sum_columns_bf16(const uint16_t* x, int64_t rows, int64_t stride, int64_t columns, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_columns_bf16_here)(x, rows, stride, columns, sums);
}

}  // namespace vernier::cpu
#endif
