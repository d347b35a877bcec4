#include "vernier/backends/cpu/resampling/weighted_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/resampling/weighted_sums.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Every part of the row is computed by the same operations, so its place in the row does not matter.
template <class D>
void sum_part(D d, const float* x, const int64_t* offsets, const float* weights, size_t count, float* y) {
  auto sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, x + offsets[0]));
  for (size_t k = 1; k < count; ++k)
    sum = hn::MulAdd(hn::Set(d, weights[k]), hn::LoadU(d, x + offsets[k]), sum);
  hn::StoreU(sum, d, y);
}

void weighted(const float* x, const int64_t* offsets, const float* weights, size_t count, float* y,
              int64_t length) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= length; i += lanes) sum_part(d, x + i, offsets, weights, count, y + i);
  for (; i < length; ++i) sum_part(one, x + i, offsets, weights, count, y + i);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(weighted);

void weighted_rows(const float* x, const int64_t* offsets, const float* weights, size_t count, float* y,
                   int64_t length) {
  HWY_DYNAMIC_DISPATCH(weighted)(x, offsets, weights, count, y, length);
}

}  // namespace vernier::cpu
#endif
