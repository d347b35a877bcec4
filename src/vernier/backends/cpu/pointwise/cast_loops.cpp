// Conversions by the rules of Cast: one rounding, to nearest even; floats to integers are truncated; integers
// keep their low bits.
#include <bit>

#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/backends/cpu/vectors/float_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/cast_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// 16 bits in the registers of f32, and back. Highway's own conversions: f16 as the hardware has it.
struct Half {
  template <class D, class V>
  static HWY_ATTR auto narrow(D, V x) {
    return hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x);
  }
  template <class D>
  static HWY_ATTR auto upcast(D d, const uint16_t* from) {
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
  }
};

template <class To>
struct Truncate {
  template <class T>
  static To of(T x) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (x >= T{0x1p63}) return x >= T{0x1p64} ? UINT64_MAX : static_cast<uint64_t>(x);
    }
    // Values beyond 64 bits are held at their ends; a NaN becomes the lowest.
    if (!(x >= T{-0x1p63})) return static_cast<To>(INT64_MIN);
    return static_cast<To>(x >= T{0x1p63} ? INT64_MAX : static_cast<int64_t>(x));
  }
};

struct IsTrue {
  template <class T>
  static bool of(T x) {
    return x != 0;
  }
};

template <class To>
struct Convert {
  template <class T>
  static To of(T x) {
    return static_cast<To>(x);
  }
};

template <class From, class To>
Loop loop_between() {
  if constexpr (std::is_same_v<To, bool>) {
    return each<uint8_t, IsTrue, From>;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return each<To, Truncate<To>, From>;
  } else {
    return each<To, Convert<To>, From>;
  }
}

// Through double, from which MiniFloat rounds once.
template <class From, class To>
void narrow_each(const LoopArguments& x) {
  const auto* a = static_cast<const From*>(x.a);
  auto* to = static_cast<To*>(x.to);
  for (int64_t i = 0; i < x.count; ++i) to[i] = To(static_cast<double>(a[i]));
}

HWY_ATTR void half_to_float(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const auto* a = static_cast<const uint16_t*>(x.a);
  auto* to = static_cast<float*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(Half::upcast(d, a + i), d, to + i);
}

HWY_ATTR void float_to_half(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<hwy::float16_t*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(Half::narrow(d, hn::LoadU(d, a + i)), d16, to + i);
}

HWY_ATTR void round_to_half(const LoopArguments& x) {
  const hn::ScalableTag<float> d;
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<float*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(hn::PromoteTo(d, Half::narrow(d, hn::LoadU(d, a + i))), d, to + i);
}

void bfloat_to_float(const LoopArguments& x) {
  cpu::upcast_bf16(static_cast<const uint16_t*>(x.a), x.count, static_cast<float*>(x.to));
}

void float_to_bfloat(const LoopArguments& x) {
  cpu::narrow_bf16(static_cast<const float*>(x.a), x.count, static_cast<uint16_t*>(x.to));
}

HWY_ATTR void round_to_bfloat(const LoopArguments& x) {
  const Floats d;
  const auto upper = hn::Set(Words(), 0xFFFF0000U);
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<float*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(hn::BitCast(d, hn::And(rounded_upper_half(hn::LoadU(d, a + i)), upper)), d, to + i);
}

template <class From>
Loop loop_from(ElementType to) {
  switch (to) {
    case ElementType::kBool: return loop_between<From, bool>();
    case ElementType::kFloat: return loop_between<From, float>();
    case ElementType::kDouble: return loop_between<From, double>();
    case ElementType::kInt8: return loop_between<From, int8_t>();
    case ElementType::kUint8: return loop_between<From, uint8_t>();
    case ElementType::kInt16: return loop_between<From, int16_t>();
    case ElementType::kUint16: return loop_between<From, uint16_t>();
    case ElementType::kInt32: return loop_between<From, int32_t>();
    case ElementType::kUint32: return loop_between<From, uint32_t>();
    case ElementType::kInt64: return loop_between<From, int64_t>();
    case ElementType::kUint64: return loop_between<From, uint64_t>();
    // 64-bit integers would be rounded twice on their way through double.
    case ElementType::kFloat16:
      return sizeof(From) < 8 || std::is_same_v<From, double> ? narrow_each<From, Float16> : nullptr;
    case ElementType::kBFloat16:
      return sizeof(From) < 8 || std::is_same_v<From, double> ? narrow_each<From, BFloat16> : nullptr;
    default: return nullptr;
  }
}

}  // namespace

Loop find_cast_loop(ElementType from, ElementType to) {
  if (from == ElementType::kFloat && to == ElementType::kFloat16) return float_to_half;
  if (from == ElementType::kFloat && to == ElementType::kBFloat16) return float_to_bfloat;
  switch (from) {
    case ElementType::kFloat16: return to == ElementType::kFloat ? half_to_float : nullptr;
    case ElementType::kBFloat16: return to == ElementType::kFloat ? bfloat_to_float : nullptr;
    case ElementType::kFloat: return loop_from<float>(to);
    case ElementType::kDouble: return loop_from<double>(to);
    case ElementType::kBool:
    case ElementType::kUint8: return loop_from<uint8_t>(to);
    case ElementType::kInt8: return loop_from<int8_t>(to);
    case ElementType::kInt16: return loop_from<int16_t>(to);
    case ElementType::kUint16: return loop_from<uint16_t>(to);
    case ElementType::kInt32: return loop_from<int32_t>(to);
    case ElementType::kUint32: return loop_from<uint32_t>(to);
    case ElementType::kInt64: return loop_from<int64_t>(to);
    case ElementType::kUint64: return loop_from<uint64_t>(to);
    default: return nullptr;
  }
}

Loop find_round_loop(ElementType to) {
  if (to == ElementType::kFloat16) return round_to_half;
  return to == ElementType::kBFloat16 ? round_to_bfloat : nullptr;
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_cast_loop);
HWY_EXPORT(find_round_loop);

Loop cast_loop(ElementType from, ElementType to) {
  return HWY_DYNAMIC_DISPATCH(find_cast_loop)(from, to);
}
Loop round_loop(ElementType to) {
  return HWY_DYNAMIC_DISPATCH(find_round_loop)(to);
}

}  // namespace vernier::cpu
#endif
