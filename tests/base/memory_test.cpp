#include "vernier/base/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace vernier {
namespace {

bool is_aligned(const void* memory, size_t alignment) {
  return reinterpret_cast<uintptr_t>(memory) % alignment == 0;
}

TEST(Memory, IsAlignedAndHasItsSize) {
  for (const size_t alignment : {size_t{1}, size_t{16}, size_t{64}, size_t{4096}}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{100000}}) {
      void* memory = allocate_aligned(alignment, bytes);
      EXPECT_TRUE(is_aligned(memory, alignment)) << alignment << " " << bytes;
      std::memset(memory, 0xff, bytes);
      release_memory(memory);
    }
  }
}

TEST(Memory, IsZeroedWhereThatIsAsked) {
  constexpr size_t kBytes = 1 << 20;
  for (int i = 0; i < 3; ++i) {  // the second time, it is memory that was used before
    auto* memory = static_cast<unsigned char*>(allocate_zeroed(kBytes));
    EXPECT_TRUE(is_aligned(memory, alignof(std::max_align_t)));
    for (size_t k = 0; k < kBytes; ++k) ASSERT_EQ(memory[k], 0) << k;
    std::memset(memory, 0xff, kBytes);
    release_memory(memory);
  }
}

TEST(Memory, MoreThanThereIsIsRefused) {
  EXPECT_THROW(allocate_aligned(64, SIZE_MAX - 63), OutOfMemory);
  EXPECT_THROW(allocate_zeroed(SIZE_MAX), OutOfMemory);
}

// Small allocations that live on come between large ones that do not, as in a run of a model.
TEST(Memory, WhatIsReleasedIsUsedAgain) {
  constexpr size_t kBytes = 4 << 20;
  constexpr int kTensors = 40;
  const auto held = [] { return ::mallinfo2().arena + ::mallinfo2().hblkhd; };
  const size_t before = held();
  std::vector<std::unique_ptr<char[]>> small;
  void* last = nullptr;
  for (int i = 0; i < kTensors; ++i) {
    void* next = allocate_aligned(64, kBytes);
    for (const size_t bytes : {24, 40, 56, 72, 88}) small.push_back(std::make_unique<char[]>(bytes));
    release_memory(last);
    last = next;
  }
  if (held() == 0) GTEST_SKIP() << "another allocator, which does not say what it holds";
  EXPECT_LT(held() - before, 4 * kBytes);
  release_memory(last);
}

}  // namespace
}  // namespace vernier
