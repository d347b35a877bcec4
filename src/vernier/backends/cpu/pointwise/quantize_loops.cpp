// QuantizeLinear and DequantizeLinear: alpha is the scale, beta the zero point.
#include "vernier/backends/cpu/pointwise/loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/quantize_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// Values beyond the range of T become its end, NaN the lowest.
template <class T, class D, class V>
HWY_ATTR void store_saturated(D d, V x, T* to) {
  const V low = hn::Set(d, std::numeric_limits<T>::min()), high = hn::Set(d, std::numeric_limits<T>::max());
  const V within = hn::Min(hn::IfThenElse(hn::Ge(x, low), x, low), high);
  const hn::RebindToSigned<D> integers;
  hn::StoreU(hn::DemoteTo(hn::Rebind<T, D>(), hn::ConvertTo(integers, within)), hn::Rebind<T, D>(), to);
}

template <class T>
HWY_ATTR void saturate(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    store_saturated(d, hn::LoadU(d, a + i), to + i);
}

// A product with the reciprocal rounds to the same integer as the quotient, unless it lies as near to a tie
// as its error: then the division decides. Quotients of 8 bits that are larger than kLargest saturate.
constexpr float kLargest = 1024, kNearTie = 0.5F - kLargest * 0x1p-22F;

template <class T>
HWY_ATTR void quantize(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<T*>(x.to);
  const auto scale = static_cast<float>(x.alpha);
  const bool divides = sizeof(T) > 1 || !(scale > 0x1p-100F && scale < 0x1p100F);
  const auto scales = hn::Set(d, scale), reciprocal = hn::Set(d, 1 / scale);
  const auto zero_point = hn::Set(d, static_cast<float>(x.beta)), near = hn::Set(d, kNearTie);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto value = hn::LoadU(d, a + i);
    auto steps = hn::Mul(value, reciprocal);
    auto rounded = hn::Round(steps);
    if (divides || !hn::AllFalse(d, hn::Gt(hn::Abs(hn::Sub(steps, rounded)), near)))
      rounded = hn::Round(hn::Div(value, scales));
    store_saturated(d, hn::Add(rounded, zero_point), to + i);
  }
}

template <class T>
HWY_ATTR void dequantize(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto* a = static_cast<const T*>(x.a);
  auto* to = static_cast<float*>(x.to);
  const auto scale = hn::Set(d, static_cast<float>(x.alpha)),
             zero_point = hn::Set(d, static_cast<float>(x.beta));
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto value = hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(narrow, a + i)));
    hn::StoreU(hn::Mul(hn::Sub(value, zero_point), scale), d, to + i);
  }
}

}  // namespace

Loop find_saturate_loop(ElementType to) {
  switch (to) {
    case ElementType::kInt8: return saturate<int8_t>;
    case ElementType::kUint8: return saturate<uint8_t>;
    case ElementType::kInt16: return saturate<int16_t>;
    case ElementType::kUint16: return saturate<uint16_t>;
    default: return nullptr;
  }
}

Loop find_quantize_loop(ElementType to) {
  switch (to) {
    case ElementType::kInt8: return quantize<int8_t>;
    case ElementType::kUint8: return quantize<uint8_t>;
    case ElementType::kInt16: return quantize<int16_t>;
    case ElementType::kUint16: return quantize<uint16_t>;
    default: return nullptr;
  }
}

Loop find_dequantize_loop(ElementType from) {
  switch (from) {
    case ElementType::kInt8: return dequantize<int8_t>;
    case ElementType::kUint8: return dequantize<uint8_t>;
    case ElementType::kInt16: return dequantize<int16_t>;
    case ElementType::kUint16: return dequantize<uint16_t>;
    default: return nullptr;
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_saturate_loop);
HWY_EXPORT(find_quantize_loop);
HWY_EXPORT(find_dequantize_loop);

Loop saturate_loop(ElementType to) {
  return HWY_DYNAMIC_DISPATCH(find_saturate_loop)(to);
}
Loop quantize_loop(ElementType to) {
  return HWY_DYNAMIC_DISPATCH(find_quantize_loop)(to);
}
Loop dequantize_loop(ElementType from) {
  return HWY_DYNAMIC_DISPATCH(find_dequantize_loop)(from);
}

}  // namespace vernier::cpu
#endif
