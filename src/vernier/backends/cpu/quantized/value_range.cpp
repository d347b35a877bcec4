#include "vernier/backends/cpu/quantized/dynamic_quantization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/quantized/value_range.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void extend_range(const float* x, int64_t count, float& low, float& high) {
  constexpr int64_t kChains = 4;
  const hn::ScalableTag<float> d;
  using Vec = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vec lows[kChains], highs[kChains];
  for (Vec& each : lows) each = hn::Set(d, low);
  for (Vec& each : highs) each = hn::Set(d, high);
  const auto extend = [&](int64_t chain, int64_t at) HWY_ATTR {
    const Vec value = hn::LoadU(d, x + at);  // comparisons with NaN are false
    lows[chain] = hn::IfThenElse(hn::Lt(value, lows[chain]), value, lows[chain]);
    highs[chain] = hn::IfThenElse(hn::Gt(value, highs[chain]), value, highs[chain]);
  };
  int64_t i = 0;
  for (; i + kChains * lanes <= count; i += kChains * lanes) {
    for (int64_t chain = 0; chain < kChains; ++chain) extend(chain, i + chain * lanes);
  }
  for (; i + lanes <= count; i += lanes) extend(0, i);
  for (int64_t chain = 1; chain < kChains; ++chain) {
    lows[0] = hn::Min(lows[0], lows[chain]);
    highs[0] = hn::Max(highs[0], highs[chain]);
  }
  low = hn::GetLane(hn::MinOfLanes(d, lows[0]));
  high = hn::GetLane(hn::MaxOfLanes(d, highs[0]));
  for (; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(extend_range);

void extend_range(const float* x, int64_t count, float& low, float& high) {
  HWY_DYNAMIC_DISPATCH(extend_range)(x, count, low, high);
}

}  // namespace vernier::cpu
#endif
