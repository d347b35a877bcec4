// float16 and bfloat16 to floats and back.
#include "vernier/backends/cpu/kernels/float_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/float_conversions.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Words = hn::Rebind<uint32_t, Floats>;
using Halves = hn::Rebind<uint16_t, Floats>;

// A whole vector at a time; the rest goes through a buffer.
template <class From, class To, class Convert>
HWY_INLINE void convert_row(const From* from, int64_t count, To* to, const Convert& convert) {
  constexpr size_t kMost = HWY_MAX_BYTES / sizeof(float);
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) convert(from + i, to + i);
  if (i == count) return;
  HWY_ALIGN From in[kMost] = {};
  HWY_ALIGN To out[kMost];
  std::copy(from + i, from + count, in);
  convert(in, out);
  std::copy(out, out + (count - i), to + i);
}

HWY_INLINE void store_halves(hn::Vec<Words> bits, uint16_t* to) {
  const hn::RebindToSigned<Floats> di;
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(di, bits)), Halves(), to);
}

// The float's bits rounded to those of a half: large, small (subnormal) and normal magnitudes apart.
HWY_INLINE hn::Vec<Words> half_bits(Vec value) {
  const Words d;
  const auto bits = hn::BitCast(d, value);
  const auto sign = hn::And(bits, hn::Set(d, 0x80000000U));
  const auto magnitude = hn::Xor(bits, sign);
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1));
  const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, hn::Set(d, 0xC8000FFFU)), odd));
  // Adding 0.5 makes the float adder round at the last place of the subnormals.
  const auto half = hn::Set(d, 0x3F000000U);
  const auto small =
      hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(Floats(), magnitude), hn::BitCast(Floats(), half))), half);
  const auto large =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7F800000U)), hn::Set(d, 0x7E00U), hn::Set(d, 0x7C00U));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000U)), small, normal);
  const auto rounded = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x47800000U)), finite, large);
  return hn::Or(rounded, hn::ShiftRight<16>(sign));
}

HWY_INLINE hn::Vec<Words> bfloat_bits(Vec value) {
  const Words d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFU)), odd);
  const auto quiet = hn::Or(bits, hn::Set(d, 0x00400000U));
  return hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), quiet, rounded));
}

}  // namespace

void widen_f16(const uint16_t* from, int64_t count, float* to) {
  convert_row(from, count, to, [](const uint16_t* in, float* out) HWY_ATTR {
    const hn::Rebind<hwy::float16_t, Floats> dh;
    hn::StoreU(hn::PromoteTo(Floats(), hn::BitCast(dh, hn::LoadU(Halves(), in))), Floats(), out);
  });
}

void widen_bf16(const uint16_t* from, int64_t count, float* to) {
  convert_row(from, count, to, [](const uint16_t* in, float* out) HWY_ATTR {
    const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(Halves(), in)));
    hn::StoreU(hn::BitCast(Floats(), bits), Floats(), out);
  });
}

void narrow_f16(const float* from, int64_t count, uint16_t* to) {
  convert_row(from, count, to, [](const float* in, uint16_t* out) HWY_ATTR {
    store_halves(half_bits(hn::LoadU(Floats(), in)), out);
  });
}

void narrow_bf16(const float* from, int64_t count, uint16_t* to) {
  convert_row(from, count, to, [](const float* in, uint16_t* out) HWY_ATTR {
    store_halves(bfloat_bits(hn::LoadU(Floats(), in)), out);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);

void widen_f16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(from, count, to);
}
void widen_bf16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_bf16)(from, count, to);
}
void narrow_f16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(from, count, to);
}
void narrow_bf16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, count, to);
}

}  // namespace vernier::cpu
#endif  // HWY_ONCE
