// float16 and bfloat16 to floats and back.
#include "vernier/backends/cpu/vectors/float_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/vectors/float_conversions.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

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

}  // namespace

void upcast_f16(const uint16_t* from, int64_t count, float* to) {
  convert_row(from, count, to, [](const uint16_t* in, float* out) HWY_ATTR {
    hn::StoreU(upcast_vector_f16(hn::LoadU(Narrow16(), in)), Floats(), out);
  });
}

void upcast_bf16(const uint16_t* from, int64_t count, float* to) {
  convert_row(from, count, to, [](const uint16_t* in, float* out) HWY_ATTR {
    hn::StoreU(upcast_vector_bf16(hn::LoadU(Narrow16(), in)), Floats(), out);
  });
}

void narrow_f16(const float* from, int64_t count, uint16_t* to) {
  convert_row(from, count, to, [](const float* in, uint16_t* out) HWY_ATTR {
    hn::StoreU(narrowed_f16(hn::LoadU(Floats(), in)), Narrow16(), out);
  });
}

void narrow_bf16(const float* from, int64_t count, uint16_t* to) {
#if HWY_TARGET != HWY_SCALAR
  const hn::Repartition<uint16_t, Floats> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  for (; count >= 2 * lanes; count -= 2 * lanes, from += 2 * lanes, to += 2 * lanes) {
    const auto first = hn::BitCast(d, rounded_upper_half(hn::LoadU(Floats(), from))),
               second = hn::BitCast(d, rounded_upper_half(hn::LoadU(Floats(), from + lanes)));
    hn::StoreU(hn::ConcatOdd(d, second, first), d, to);
  }
#endif
  convert_row(from, count, to, [](const float* in, uint16_t* out) HWY_ATTR {
    hn::StoreU(narrowed_bf16(hn::LoadU(Floats(), in)), Narrow16(), out);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(upcast_f16);
HWY_EXPORT(upcast_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);

void upcast_f16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(upcast_f16)(from, count, to);
}
void upcast_bf16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(upcast_bf16)(from, count, to);
}
void narrow_f16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(from, count, to);
}
void narrow_bf16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, count, to);
}

}  // namespace vernier::cpu
#endif  // HWY_ONCE
