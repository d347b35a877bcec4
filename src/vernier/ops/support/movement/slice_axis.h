// Where a slice starts along an axis, and how far its elements are apart.
#pragma once

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// Far outside is as good as just outside, and keeps the arithmetic within 64 bits.
inline int64_t limit_within_64_bits(int64_t limit) {
  return std::clamp<int64_t>(limit, -(int64_t{1} << 60), int64_t{1} << 60);
}

// The first element; a negative start counts from the back.
inline int64_t slice_start(int64_t start, int64_t step, int64_t size) {
  start = limit_within_64_bits(start);
  if (start < 0) start += size;
  return std::clamp<int64_t>(start, 0, std::max<int64_t>(step < 0 ? size - 1 : size, 0));
}

// Steps beyond the axis take one element; their products could leave 64 bits.
inline int64_t slice_step(int64_t step, int64_t size) {
  return std::clamp<int64_t>(step, -size, size);
}

}  // namespace vernier::ops
