// Floats as sums of two bfloat16.
#include "vernier/backends/cpu/onednn/split_bf16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/onednn/split_loop.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::Rebind<uint32_t, Floats>;
using Signed = hn::Rebind<int32_t, Floats>;
using Halves = hn::Rebind<uint16_t, Floats>;

// The bits of the nearest bfloat16, in the upper half; of what would round to infinity, of infinity and NaN,
// the upper bits as they are.
HWY_INLINE hn::Vec<Words> upper(hn::Vec<Words> bits) {
  const Words d;
  const auto exponent = hn::Set(d, 0x7F800000U), mask = hn::Set(d, 0xFFFF0000U);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto nearest = hn::And(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFF))), mask);
  const auto special = hn::Eq(hn::And(bits, exponent), exponent);
  const auto overflows = hn::Or(special, hn::Eq(hn::And(nearest, exponent), exponent));
  return hn::IfThenElse(overflows, hn::And(bits, mask), nearest);
}

HWY_INLINE void store(hn::Vec<Words> bits, uint16_t* to) {
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(Signed(), hn::ShiftRight<16>(bits))), Halves(), to);
}

HWY_INLINE void split_vector(const float* from, uint16_t* hi, uint16_t* again, uint16_t* lo) {
  const Floats df;
  const Words d;
  const auto value = hn::LoadU(df, from);
  // A NaN keeps a bit that stays in its upper half.
  const auto quiet =
      hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), hn::Set(d, 0x00400000U), hn::Zero(d));
  const auto bits = hn::BitCast(d, value);
  const auto high = hn::Or(upper(bits), quiet);
  const auto exponent = hn::Set(d, 0x7F800000U);
  const auto special = hn::Eq(hn::And(bits, exponent), exponent);
  const auto rest = hn::Sub(value, hn::BitCast(df, high));
  const auto low = hn::IfThenElse(special, hn::Zero(d), upper(hn::BitCast(d, rest)));
  store(high, hi);
  store(high, again);
  store(low, lo);
}

void split_row(const float* from, uint16_t* to, int64_t depth) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  uint16_t *hi = to, *again = to + depth, *lo = to + 2 * depth;
  int64_t i = 0;
  for (; i + lanes <= depth; i += lanes) split_vector(from + i, hi + i, again + i, lo + i);
  if (i == depth) return;
  constexpr size_t kMost = HWY_MAX_BYTES / sizeof(float);
  HWY_ALIGN float in[kMost] = {};
  HWY_ALIGN uint16_t out[3][kMost];
  std::copy(from + i, from + depth, in);
  split_vector(in, out[0], out[1], out[2]);
  const auto rest = static_cast<size_t>(depth - i);
  std::copy_n(out[0], rest, hi + i);
  std::copy_n(out[1], rest, again + i);
  std::copy_n(out[2], rest, lo + i);
}

void split_all(const float* from, uint16_t* to, int64_t rows, int64_t depth) {
  for (int64_t row = 0; row < rows; ++row) split_row(from + row * depth, to + row * depth * 3, depth);
}

}  // namespace

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(split_all);

void split_rows(const float* from, uint16_t* to, int64_t rows, int64_t depth) {
  HWY_DYNAMIC_DISPATCH(split_all)(from, to, rows, depth);
}

}  // namespace vernier::cpu
#endif
