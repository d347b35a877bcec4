// Whether code leaves numbers in the upper lanes of the vector registers.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <optional>

#include "vernier/base/vector_state.h"

namespace vernier {

// Whether they were clear, as they are after this; nothing where the processor does not say so.
inline std::optional<bool> were_upper_lanes_clear() {
#if defined(__x86_64__)
  constexpr uint32_t kStateLeaf = 0xD, kTellsUse = 1 << 2, kUpperHalves = 1 << 2;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(kStateLeaf, 1, &a, &b, &c, &d) == 0 || (a & kTellsUse) == 0) return std::nullopt;
  const auto in_use = [] {
    uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & kUpperHalves) != 0;
  };
  if (!in_use()) return true;
  clear_upper_lanes();
  if (in_use()) return std::nullopt;  // it always says so
  return false;
#else
  return std::nullopt;
#endif
}

}  // namespace vernier
