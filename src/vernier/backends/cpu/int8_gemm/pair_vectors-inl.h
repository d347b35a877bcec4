// Vectors of pairs of int16 and of their sums (pair_block.h).

// Included once for each instruction set.
#if defined(VERNIER_PAIR_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_PAIR_VECTORS_INL
#undef VERNIER_PAIR_VECTORS_INL
#else
#define VERNIER_PAIR_VECTORS_INL
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "vernier/backends/cpu/int8_gemm/pair_block.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using Sums = hn::CappedTag<int32_t, kPanelColumns>;
using Pairs = hn::Repartition<int16_t, Sums>;
using SumsVec = hn::Vec<Sums>;
using PairsVec = hn::Vec<Pairs>;

inline constexpr int64_t kSumLanes = HWY_MIN(HWY_MAX_BYTES / 4, kPanelColumns), kPairLanes = 2 * kSumLanes;
inline constexpr int64_t kVectors = kPanelColumns / kSumLanes;  // of a panel
// Twelve registers of sums leave those of weights, and of a row, where there are sixteen.
inline constexpr int64_t kSumRegisters = 12;
static_assert(kPairLanes <= kPairSlack / 2);

// sums + the sums of pairs of products.
HWY_INLINE SumsVec add_pairs(PairsVec a, PairsVec b, SumsVec sums) {
  SumsVec unused = hn::Zero(Sums());
  return hn::ReorderWidenMulAccumulate(Sums(), a, b, sums, unused);
}

HWY_INLINE PairsVec upcast(const uint8_t* from, bool is_signed) {
  const Pairs d;
  const hn::Rebind<uint8_t, Pairs> unsigned_int8;
  const hn::Rebind<int8_t, Pairs> signed_int8;
  const auto bytes = hn::LoadU(unsigned_int8, from);
  return is_signed ? hn::PromoteTo(d, hn::BitCast(signed_int8, bytes)) : hn::PromoteTo(d, bytes);
}

// Writes whole vectors.
HWY_INLINE void upcast(const Int8Source& source, const uint8_t* from, int64_t count, int16_t* to) {
  const Pairs d;
  const auto zero = hn::Set(d, static_cast<int16_t>(source.zero_point));
  for (int64_t i = 0; i < count; i += kPairLanes) {
    uint8_t rest[kPairLanes] = {};
    const uint8_t* at = from + i;
    if (source.end - at < kPairLanes) {
      std::memcpy(rest, at, static_cast<size_t>(std::min(count - i, kPairLanes)));
      at = rest;
    }
    hn::StoreU(hn::Sub(upcast(at, source.is_signed), zero), d, to + i);
  }
}

#else

HWY_INLINE int16_t upcast(const Int8Source& source, const uint8_t* from) {
  return static_cast<int16_t>((source.is_signed ? static_cast<int8_t>(*from) : *from) - source.zero_point);
}

HWY_INLINE void upcast(const Int8Source& source, const uint8_t* from, int64_t count, int16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = upcast(source, from + i);
}

#endif

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
