#include "vernier/backends/cpu/int8_gemm/integer_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/int8_gemm/integer_sums.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Integers = hn::ScalableTag<int32_t>;

// The vectors of a row; what is behind the last whole one goes lane by lane, as vectors of one.
template <class D, class Store>
HWY_INLINE void correct_from(D d, const SumRow& row, int64_t& i, const Store& store) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto a_zero = hn::Set(d, row.a_zero), row_sum = hn::Set(d, row.row_sum);
  for (; i + lanes <= row.count; i += lanes) {
    auto sum = hn::LoadU(d, row.sums + i);
    if (row.column_sums != nullptr) sum = hn::Sub(sum, hn::Mul(a_zero, hn::LoadU(d, row.column_sums + i)));
    if (row.b_zeros != nullptr) sum = hn::Sub(sum, hn::Mul(row_sum, hn::LoadU(d, row.b_zeros + i)));
    store(d, sum, i);
  }
}

template <class Store>
HWY_INLINE void correct(const SumRow& row, const Store& store) {
  int64_t i = 0;
  correct_from(Integers(), row, i, store);
  correct_from(hn::CappedTag<int32_t, 1>(), row, i, store);
}

}  // namespace

void correct_sums(const SumRow& row, int32_t* to) {
  correct(row, [to](auto d, auto sum, int64_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
}

void scale_sums(const SumRow& row, const float* scales, const float* bias, float* to) {
  correct(row, [=](auto d, auto sum, int64_t i) HWY_ATTR {
    const hn::RebindToFloat<decltype(d)> df;
    auto value = hn::Mul(hn::ConvertTo(df, sum), hn::LoadU(df, scales + i));
    if (bias != nullptr) value = hn::Add(value, hn::LoadU(df, bias + i));
    hn::StoreU(value, df, to + i);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(correct_sums);
HWY_EXPORT(scale_sums);

void correct_sums(const SumRow& row, int32_t* to) {
  HWY_DYNAMIC_DISPATCH(correct_sums)(row, to);
}
void scale_sums(const SumRow& row, const float* scales, const float* bias, float* to) {
  HWY_DYNAMIC_DISPATCH(scale_sums)(row, scales, bias, to);
}

}  // namespace vernier::cpu
#endif
