// Vectors of floats that memory holds as float, float16 or bfloat16: upcast when they are read, rounded
// once, to nearest even, when they are written. Included once for each instruction set, after hwy/highway.h.
#if defined(VERNIER_STORAGE_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_STORAGE_VECTORS_INL_H
#undef VERNIER_STORAGE_VECTORS_INL_H
#else
#define VERNIER_STORAGE_VECTORS_INL_H
#endif

#include "vernier/backends/cpu/vectors/float_vectors-inl.h"
#include "vernier/numeric/element_type.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

using Words = hn::Rebind<uint32_t, Floats>;
using Narrow16 = hn::Rebind<uint16_t, Floats>;  // of either narrow type
using HalfVec = hn::Vec<Narrow16>;

HWY_INLINE Vec upcast_vector_f16(HalfVec bits) {
  const hn::Rebind<hwy::float16_t, Floats> d;
  return hn::PromoteTo(Floats(), hn::BitCast(d, bits));
}

HWY_INLINE Vec upcast_vector_bf16(HalfVec bits) {
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
}

HWY_INLINE HalfVec lower_halves(hn::Vec<Words> bits) {
  return hn::DemoteTo(Narrow16(), hn::BitCast(hn::RebindToSigned<Floats>(), bits));
}

#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
// The processor's own conversion, but that all NaNs become one.
HWY_INLINE HalfVec narrowed_f16(Vec value) {
  const Vec quiet = hn::CopySign(hn::BitCast(Floats(), hn::Set(Words(), 0x7FC00000U)), value);
  const hn::Rebind<hwy::float16_t, Floats> d;
  return hn::BitCast(Narrow16(), hn::DemoteTo(d, hn::IfThenElse(hn::IsNaN(value), quiet, value)));
}
#else
// The float's bits rounded to those of a half: large, small (subnormal) and normal magnitudes apart.
HWY_INLINE HalfVec narrowed_f16(Vec value) {
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
  return lower_halves(hn::Or(rounded, hn::ShiftRight<16>(sign)));
}
#endif

// A bfloat16 is the upper half of a float.
HWY_INLINE hn::Vec<Words> rounded_upper_half(Vec value) {
  const Words d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFU)), odd);
  const auto quiet = hn::Or(bits, hn::Set(d, 0x00400000U));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), quiet, rounded);
}

HWY_INLINE HalfVec narrowed_bf16(Vec value) {
  return lower_halves(hn::ShiftRight<16>(rounded_upper_half(value)));
}

HWY_INLINE Vec upcast(ElementType type, HalfVec bits) {
  return type == ElementType::kBFloat16 ? upcast_vector_bf16(bits) : upcast_vector_f16(bits);
}

HWY_INLINE HalfVec narrowed(ElementType type, Vec value) {
  return type == ElementType::kBFloat16 ? narrowed_bf16(value) : narrowed_f16(value);
}

// A vector of elements, from element `first` of a row on.
struct WholeVector {
  HWY_INLINE Vec load(ElementType type, const void* row, int64_t first) const {
    if (type == ElementType::kFloat) return hn::LoadU(Floats(), static_cast<const float*>(row) + first);
    return upcast(type, hn::LoadU(Narrow16(), static_cast<const uint16_t*>(row) + first));
  }
  HWY_INLINE void store(Vec v, ElementType type, void* row, int64_t first) const {
    if (type == ElementType::kFloat) return hn::StoreU(v, Floats(), static_cast<float*>(row) + first);
    hn::StoreU(narrowed(type, v), Narrow16(), static_cast<uint16_t*>(row) + first);
  }
};

// The last ones of a row, fewer than a vector; zeros take the place of the others.
struct PartialVector {
  size_t count;

  HWY_INLINE Vec load(ElementType type, const void* row, int64_t first) const {
    if (type == ElementType::kFloat) return load_some(static_cast<const float*>(row) + first, count);
    HWY_ALIGN uint16_t buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy_n(static_cast<const uint16_t*>(row) + first, count, buffer);
    return upcast(type, hn::Load(Narrow16(), buffer));
  }
  HWY_INLINE void store(Vec v, ElementType type, void* row, int64_t first) const {
    if (type == ElementType::kFloat) return store_some(v, count, static_cast<float*>(row) + first);
    HWY_ALIGN uint16_t buffer[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(narrowed(type, v), Narrow16(), buffer);
    std::copy_n(buffer, count, static_cast<uint16_t*>(row) + first);
  }
};

// Calls body(position, vector) for each vector of `count` elements.
template <class Body>
HWY_INLINE void for_each_stored(int64_t count, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, WholeVector());
  if (i < count) body(i, PartialVector{static_cast<size_t>(count - i)});
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
