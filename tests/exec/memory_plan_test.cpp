// Placing buffers into an arena.
#include "vernier/exec/planning/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace vernier {
namespace {

bool overlap(const Lifetime& a, size_t a_at, const Lifetime& b, size_t b_at) {
  const bool same_time = a.first <= b.last && b.first <= a.last;
  return same_time && a.bytes > 0 && b.bytes > 0 && a_at < b_at + b.bytes && b_at < a_at + a.bytes;
}

TEST(MemoryPlan, BuffersThatNeverMeetShareMemory) {
  const auto plan = plan_memory({{100, 0, 1}, {100, 2, 3}, {64, 1, 2}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.bytes, 128 + 64);
}

TEST(MemoryPlan, AGapIsUsed) {
  // 0 and 2 lie apart with the room of 1 between them, which 3 takes over.
  const auto plan = plan_memory({{256, 0, 9}, {192, 0, 4}, {128, 0, 9}, {64, 5, 9}});
  EXPECT_EQ(plan.bytes, 256 + 192 + 128);
}

TEST(MemoryPlan, NoTwoLiveBuffersOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lives(1 + random() % 60);
    for (Lifetime& life : lives) {
      life.bytes = random() % 5000;
      life.first = static_cast<int>(random() % 40);
      life.last = life.first + static_cast<int>(random() % 10);
    }
    const auto plan = plan_memory(lives);
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % kArenaAlignment, 0U);
      EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j)
        ASSERT_FALSE(overlap(lives[i], plan.offsets[i], lives[j], plan.offsets[j]))
            << round << " " << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace vernier
