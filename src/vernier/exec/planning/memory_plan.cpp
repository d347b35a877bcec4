#include "vernier/exec/planning/memory_plan.h"

#include <numeric>

namespace vernier {

namespace {

size_t aligned(size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<size_t> placed;  // by offset
  for (const size_t index : order) {
    const Lifetime& life = lifetimes[index];
    size_t at = 0;
    for (const size_t other : placed) {
      const Lifetime& neighbour = lifetimes[other];
      if (neighbour.last < life.first || life.last < neighbour.first) continue;
      if (plan.offsets[other] >= at + aligned(life.bytes)) break;
      at = std::max(at, plan.offsets[other] + aligned(neighbour.bytes));
    }
    plan.offsets[index] = at;
    plan.bytes = std::max(plan.bytes, at + aligned(life.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  index);
  }
  return plan;
}

}  // namespace vernier
