#include <algorithm>
#include <cstring>

#include "vernier/backends/cpu/int8_gemm/pair_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/depthwise/pair_depthwise_sums.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/int8_gemm/pair_vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void sum_depthwise_here(const PairDepthwise& work) {
  for (int64_t pixel = 0; pixel < work.pixels; ++pixel) {
    for (int64_t i = 0; i < work.channels; ++i) {
      int32_t sum = work.initial == nullptr ? 0 : work.initial[i];
      for (int64_t tap = 0; tap < 2 * work.pairs; ++tap) {
        const uint8_t* from = work.taps[tap] + pixel * work.steps[tap] + work.channel + i;
        sum += (work.is_signed ? static_cast<int8_t>(*from) : *from) * work.weights[tap * kPairColumns + i];
      }
      work.sums[pixel * kPairColumns + i] = sum;
    }
  }
}

#else

namespace {

// Sums of a vector of channels come as pairs of vectors that interleave in 128 bits.
HWY_INLINE void store_sums(SumsVec low, SumsVec high, int32_t* to) {
  const Sums d;
  constexpr int64_t kBlock = 4;  // int32 of 128 bits
  if constexpr (kSumLanes == kBlock) {
    hn::StoreU(low, d, to);
    hn::StoreU(high, d, to + kBlock);
  } else if constexpr (kSumLanes == 2 * kBlock) {
    hn::StoreU(hn::ConcatLowerLower(d, high, low), d, to);
    hn::StoreU(hn::ConcatUpperUpper(d, high, low), d, to + kSumLanes);
  } else {
    HWY_ALIGN int32_t lows[kSumLanes], highs[kSumLanes];
    hn::Store(low, d, lows);
    hn::Store(high, d, highs);
    for (int64_t block = 0; block < kSumLanes / kBlock; ++block) {
      std::memcpy(to + 2 * block * kBlock, lows + block * kBlock, kBlock * sizeof(int32_t));
      std::memcpy(to + (2 * block + 1) * kBlock, highs + block * kBlock, kBlock * sizeof(int32_t));
    }
  }
}

// A vector of channels of a tap, all of them or the first.
template <bool kWhole>
HWY_INLINE PairsVec tap_of(const uint8_t* from, int64_t channels, bool is_signed) {
  if constexpr (kWhole) return upcast(from, is_signed);
  uint8_t some[kPairLanes] = {};
  std::memcpy(some, from, static_cast<size_t>(channels));
  return upcast(some, is_signed);
}

// kPixels pixels of a vector of channels, `channel` behind the first of the block.
template <int64_t kPixels, bool kSigned, bool kWhole>
HWY_INLINE void sum_pixels(const PairDepthwise& work, int64_t pixel, int64_t channel) {
  const Sums d;
  const Pairs pairs;
  SumsVec low[kPixels], high[kPixels];
  for (int64_t i = 0; i < kPixels; ++i) low[i] = high[i] = hn::Zero(d);
  const int64_t taps = 2 * work.pairs, offset = work.channel + channel, left = work.channels - channel;
  const int16_t* weights = work.weights + channel;
  for (int64_t tap = 0; tap < taps; tap += 2, weights += 2 * kPairColumns) {
    const PairsVec a = hn::LoadU(pairs, weights), b = hn::LoadU(pairs, weights + kPairColumns);
    const uint8_t* first = work.taps[tap] + pixel * work.steps[tap] + offset;
    const uint8_t* second = work.taps[tap + 1] + pixel * work.steps[tap + 1] + offset;
    const PairsVec w_low = hn::InterleaveLower(pairs, a, b), w_high = hn::InterleaveUpper(pairs, a, b);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kPixels; ++i) {
      const PairsVec x0 = tap_of<kWhole>(first + i * work.steps[tap], left, kSigned),
                     x1 = tap_of<kWhole>(second + i * work.steps[tap + 1], left, kSigned);
      low[i] = add_pairs(hn::InterleaveLower(pairs, x0, x1), w_low, low[i]);
      high[i] = add_pairs(hn::InterleaveUpper(pairs, x0, x1), w_high, high[i]);
    }
  }
  for (int64_t i = 0; i < kPixels; ++i)
    store_sums(low[i], high[i], work.sums + (pixel + i) * kPairColumns + channel);
}

// Whether whole vectors of channels can be read of the taps of the pixels up to this one.
HWY_INLINE bool reads_whole(const PairDepthwise& work, int64_t pixel, int64_t channel) {
  const int64_t need = work.channel + channel + kPairLanes;
  if (work.reads_beyond || work.channels - channel >= kPairLanes) return true;
  for (int64_t tap = 0; tap < 2 * work.pairs; ++tap) {
    const uint8_t* from = work.taps[tap] + pixel * work.steps[tap];
    if (from != work.padding && work.end - from < need) return false;
  }
  return true;
}

template <bool kSigned>
HWY_INLINE void sum_channels(const PairDepthwise& work, int64_t channel) {
  constexpr int64_t kPixels = 4;
  int64_t pixel = 0;
  for (; pixel + kPixels <= work.pixels; pixel += kPixels) {
    if (reads_whole(work, pixel + kPixels - 1, channel))
      sum_pixels<kPixels, kSigned, true>(work, pixel, channel);
    else
      sum_pixels<kPixels, kSigned, false>(work, pixel, channel);
  }
  for (; pixel < work.pixels; ++pixel) {
    if (reads_whole(work, pixel, channel))
      sum_pixels<1, kSigned, true>(work, pixel, channel);
    else
      sum_pixels<1, kSigned, false>(work, pixel, channel);
  }
}

template <bool kSigned>
HWY_INLINE void sum_all(const PairDepthwise& work) {
  for (int64_t channel = 0; channel < work.channels; channel += kPairLanes)
    sum_channels<kSigned>(work, channel);
  if (work.initial == nullptr) return;
  const Sums d;
  for (int64_t pixel = 0; pixel < work.pixels; ++pixel) {
    int32_t* sums = work.sums + pixel * kPairColumns;
    for (int64_t i = 0; i < kPairColumns; i += kSumLanes)
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::LoadU(d, work.initial + i)), d, sums + i);
  }
}

}  // namespace

void sum_depthwise_here(const PairDepthwise& work) {
  work.is_signed ? sum_all<true>(work) : sum_all<false>(work);
}

#endif

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(sum_depthwise_here);

void sum_depthwise(const PairDepthwise& work) {
  HWY_DYNAMIC_DISPATCH(sum_depthwise_here)(work);
}

}  // namespace vernier::cpu
#endif
