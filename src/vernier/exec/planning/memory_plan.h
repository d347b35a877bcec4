// Places buffers with lifetimes into one arena.
#pragma once

#include <cstddef>
#include <vector>

namespace vernier {

inline constexpr size_t kArenaAlignment = 64;

struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;  // steps, both inclusive
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // multiples of kArenaAlignment
  size_t bytes = 0;
};

// Largest first, each at the lowest offset where no buffer lies that lives at the same time.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace vernier
