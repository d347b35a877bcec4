#include <cstring>

#include "vernier/backends/cpu/gemm/packed_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/gemm/bf16_terms.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Words = hn::Rebind<uint32_t, Floats>;
using Bits = hn::Vec<Words>;

constexpr uint32_t kMagnitude = 0x7FFFFFFFU, kUpper = 0xFFFF0000U, kExponent = 0x7F800000U;
constexpr uint32_t kRoundsToInfinity = 0x7F7F8000U;  // and all above it

// The nearest bfloat16 in the upper half, and something in the lower; of numbers below kRoundsToInfinity.
HWY_INLINE Bits rounded(Bits bits) {
  const Words d;
  return hn::Add(bits, hn::Set(d, 0x8000U));
}

HWY_INLINE Bits upper(Bits bits) {
  const Words d;
  return hn::And(bits, hn::Set(d, kUpper));
}

// The same for all floats.
HWY_INLINE Bits rounded_with_care(Bits bits) {
  const Words d;
  const auto size = hn::And(bits, hn::Set(d, kMagnitude));
  const auto large = hn::Gt(size, hn::Set(d, kRoundsToInfinity - 1));
  // A NaN keeps a bit that stays in its upper half.
  const auto nan = hn::Gt(size, hn::Set(d, kExponent));
  const auto cut = hn::Or(bits, hn::IfThenElseZero(nan, hn::Set(d, 0x00400000U)));
  return hn::IfThenElse(large, cut, rounded(bits));
}

// Infinity and NaN leave nothing.
HWY_INLINE Bits rest_with_care(Bits bits, Bits term) {
  const Words d;
  const Floats df;
  const auto special = hn::Gt(hn::And(bits, hn::Set(d, kMagnitude)), hn::Set(d, kExponent - 1));
  const auto rest = hn::BitCast(d, hn::Sub(hn::BitCast(df, bits), hn::BitCast(df, term)));
  return hn::IfThenZeroElse(special, rest);
}

// The upper 16 bits of the elements of both, one operand after the other.
HWY_INLINE void store_upper(Bits a, Bits b, uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = static_cast<uint16_t>(hn::GetLane(a) >> 16);
  to[1] = static_cast<uint16_t>(hn::GetLane(b) >> 16);
#else
  const hn::Repartition<uint16_t, Floats> d;
  hn::StoreU(hn::ConcatOdd(d, hn::BitCast(d, b), hn::BitCast(d, a)), d, to);
#endif
}

template <int kTerms, bool kCare>
HWY_INLINE void split_pair(Bits a, Bits b, uint16_t* to, int64_t term) {
  const Words d;
  const Floats df;
  for (int i = 0; i < kTerms; ++i) {
    const Bits near_a = kCare ? rounded_with_care(a) : rounded(a);
    const Bits near_b = kCare ? rounded_with_care(b) : rounded(b);
    store_upper(near_a, near_b, to + i * term);
    if (i + 1 == kTerms) break;
    if constexpr (kCare) {
      a = rest_with_care(a, upper(near_a));
      b = rest_with_care(b, upper(near_b));
    } else {
      a = hn::BitCast(d, hn::Sub(hn::BitCast(df, a), hn::BitCast(df, upper(near_a))));
      b = hn::BitCast(d, hn::Sub(hn::BitCast(df, b), hn::BitCast(df, upper(near_b))));
    }
  }
}

// The first `count` elements of a chunk, of a multiple of the vectors' size or fewer than a vector.
HWY_INLINE Bits load_bits(const float* from, int64_t count) {
  const Words d;
  const Floats df;
  if (count >= static_cast<int64_t>(hn::Lanes(df))) return hn::BitCast(d, hn::LoadU(df, from));
  return count <= 0 ? hn::Zero(d) : hn::BitCast(d, load_some(from, static_cast<size_t>(count)));
}

template <int kTerms>
HWY_INLINE void split_chunk(const float* from, int64_t count, uint16_t* to, int64_t term) {
  const Words d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, kRoundsToInfinity - 1), magnitude = hn::Set(d, kMagnitude);
  for (int64_t i = 0; i < kChunk; i += 2 * lanes) {
    const Bits a = load_bits(from + i, count - i), b = load_bits(from + i + lanes, count - i - lanes);
    const auto large = hn::Max(hn::And(a, magnitude), hn::And(b, magnitude));
    if (hn::AllFalse(d, hn::Gt(large, limit)))
      split_pair<kTerms, false>(a, b, to + i, term);
    else
      split_pair<kTerms, true>(a, b, to + i, term);
  }
}

template <int kTerms>
void split_all(const SplitPixels& s) {
  const int64_t whole = s.channels / kChunk, rest = s.channels % kChunk;
  for (int64_t p = 0; p < s.count; ++p) {
    const float* from = static_cast<const float*>(s.from) + p * s.stride;
    uint16_t* to = s.to + p * kChunk;
    for (int64_t c = 0; c < whole; ++c)
      split_chunk<kTerms>(from + c * kChunk, kChunk, to + c * s.chunk, s.term);
    if (rest > 0) split_chunk<kTerms>(from + whole * kChunk, rest, to + whole * s.chunk, s.term);
  }
}

}  // namespace

void split_pixels_here(const SplitPixels& split) {
  switch (split.format.terms) {
    case 1: return split_all<1>(split);
    case 2: return split_all<2>(split);
    default: return split_all<3>(split);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(split_pixels_here);

namespace {

constexpr int64_t kRowBytes = kChunk * static_cast<int64_t>(sizeof(uint16_t));

void copy_pixels(const SplitPixels& s) {
  const int64_t bytes = s.channels * s.format.source, whole = bytes / kRowBytes, rest = bytes % kRowBytes;
  for (int64_t p = 0; p < s.count; ++p) {
    const auto* from = static_cast<const std::byte*>(s.from) + p * s.stride * s.format.source;
    uint16_t* to = s.to + p * kChunk;
    for (int64_t c = 0; c < whole; ++c, to += s.chunk) std::memcpy(to, from + c * kRowBytes, kRowBytes);
    if (rest == 0) continue;
    std::memset(to, 0, kRowBytes);
    std::memcpy(to, from + whole * kRowBytes, static_cast<size_t>(rest));
  }
}

}  // namespace

void split_pixels(const SplitPixels& split) {
  if (split.format.source != sizeof(float)) return copy_pixels(split);
  HWY_DYNAMIC_DISPATCH(split_pixels_here)(split);
}

}  // namespace vernier::cpu
#endif
