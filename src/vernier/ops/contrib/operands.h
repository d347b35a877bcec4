// The operands of those operators of com.microsoft that passes or backends take apart, too.
#pragma once

#include <cstddef>

namespace vernier::ops {

namespace group_query {

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kScoreBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};
enum Output : size_t { kOut, kPresentKey, kPresentValue, kScores };

}  // namespace group_query

namespace embed_layer_norm {

enum Input : size_t {
  kWords,
  kSegments,
  kWordTable,
  kPositionTable,
  kSegmentTable,
  kGamma,
  kBeta,
  kMask,
  kPositions
};
enum Output : size_t { kOut, kMaskIndex, kSum };

}  // namespace embed_layer_norm

}  // namespace vernier::ops
