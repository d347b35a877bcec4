#include "vernier/backends/cpu/int8_gemm/integer_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/int8_gemm/int8_row_sums.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

template <class T>
HWY_ATTR void sum_rows(const T* from, int64_t rows, int64_t stride, int64_t channels, int32_t* sums) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row)
      sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(narrow, from + row * stride + c)));
    hn::StoreU(sum, d, sums + c);
  }
  for (; c < channels; ++c) {
    sums[c] = 0;
    for (int64_t row = 0; row < rows; ++row) sums[c] += from[row * stride + c];
  }
}

template <class T>
HWY_ATTR int32_t sum(const T* from, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) sums = hn::Add(sums, hn::PromoteTo(d, hn::LoadU(narrow, from + i)));
  int32_t total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) total += from[i];
  return total;
}

}  // namespace

void sum_signed_rows(const uint8_t* from, int64_t rows, int64_t stride, int64_t channels, int32_t* sums) {
  sum_rows(reinterpret_cast<const int8_t*>(from), rows, stride, channels, sums);
}
void sum_unsigned_rows(const uint8_t* from, int64_t rows, int64_t stride, int64_t channels, int32_t* sums) {
  sum_rows(from, rows, stride, channels, sums);
}
int32_t sum_signed(const uint8_t* from, int64_t count) {
  return sum(reinterpret_cast<const int8_t*>(from), count);
}
int32_t sum_unsigned(const uint8_t* from, int64_t count) {
  return sum(from, count);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(sum_signed_rows);
HWY_EXPORT(sum_unsigned_rows);
HWY_EXPORT(sum_signed);
HWY_EXPORT(sum_unsigned);

void sum_int8_rows(const uint8_t* from, int64_t rows, int64_t stride, int64_t channels, bool is_signed,
                   int32_t* sums) {
  if (is_signed)
    HWY_DYNAMIC_DISPATCH(sum_signed_rows)(from, rows, stride, channels, sums);
  else
    HWY_DYNAMIC_DISPATCH(sum_unsigned_rows)(from, rows, stride, channels, sums);
}

int32_t sum_bytes(const uint8_t* from, int64_t count, bool is_signed) {
  return is_signed ? HWY_DYNAMIC_DISPATCH(sum_signed)(from, count)
                   : HWY_DYNAMIC_DISPATCH(sum_unsigned)(from, count);
}

}  // namespace vernier::cpu
#endif
