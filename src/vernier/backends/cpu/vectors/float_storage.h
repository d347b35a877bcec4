// Tensors of float, float16 and bfloat16 as floats: the narrow types are upcast into a buffer, computed
// there, and rounded once.
#pragma once

#include "vernier/backends/cpu/vectors/float_loops.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

inline bool is_narrow(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}
inline bool is_float_storage(ElementType type) {
  return type == ElementType::kFloat || is_narrow(type);
}

// Elements [first, first + count) as floats: where they lie, or in `buffer`.
inline const float* load_floats(ElementType type, const void* from, int64_t first, int64_t count,
                                float* buffer) {
  if (type == ElementType::kFloat) return static_cast<const float*>(from) + first;
  const auto* narrow = static_cast<const uint16_t*>(from) + first;
  if (type == ElementType::kFloat16)
    upcast_f16(narrow, count, buffer);
  else
    upcast_bf16(narrow, count, buffer);
  return buffer;
}

// Where to compute the elements from `first` on, before store_floats.
inline float* float_target(ElementType type, void* to, int64_t first, float* buffer) {
  return type == ElementType::kFloat ? static_cast<float*>(to) + first : buffer;
}

// Rounds what float_target gave; nothing to do for floats.
inline void store_floats(ElementType type, const float* buffer, int64_t count, void* to, int64_t first) {
  if (type == ElementType::kFloat16) narrow_f16(buffer, count, static_cast<uint16_t*>(to) + first);
  if (type == ElementType::kBFloat16) narrow_bf16(buffer, count, static_cast<uint16_t*>(to) + first);
}

// A kernel's numbers: floats in and in between, sums in blocks.
inline NumericsContract float_contract(ElementType stored) {
  return {.computed = ElementType::kFloat,
          .accumulated = ElementType::kFloat,
          .stored = stored,
          .order = NumericsContract::Order::kBlocked};
}

}  // namespace vernier::cpu
