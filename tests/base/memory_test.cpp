#include "vernier/base/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
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
  const size_t after = held();
  release_memory(last);
  if (after == 0) GTEST_SKIP() << "another allocator, which does not say what it holds";
  EXPECT_LT(after - before, 4 * kBytes);
}

#ifndef VERNIER_SANITIZED
constexpr size_t kTensor = 4 << 20;

void use(void* memory) {
  std::memset(memory, 0xff, kTensor);
}

TEST(KeptMemory, IsUsedAgainAndGivenBack) {
  const size_t reused = KeptMemory::reused();
  {
    const KeptMemory kept;
    for (int i = 0; i < 10; ++i) {
      void* memory = allocate_aligned(64, kTensor);
      use(memory);
      release_memory(memory);
    }
    EXPECT_EQ(KeptMemory::reused(), reused + 9);
    EXPECT_GE(KeptMemory::bytes(), kTensor);
    auto* zeroed = static_cast<unsigned char*>(allocate_zeroed(kTensor));
    EXPECT_EQ(KeptMemory::reused(), reused + 10);
    for (size_t k = 0; k < kTensor; ++k) ASSERT_EQ(zeroed[k], 0) << k;
    release_memory(zeroed);
  }
  EXPECT_EQ(KeptMemory::bytes(), 0);
}

TEST(KeptMemory, IsAlignedAsAskedWhenItIsUsedAgain) {
  const KeptMemory kept;
  release_memory(allocate_aligned(16, kTensor));
  void* memory = allocate_aligned(4096, kTensor - 4096);
  EXPECT_TRUE(is_aligned(memory, 4096));
  release_memory(memory);
}

// Blocks of other sizes come and go: what is kept never adds to what was in use at once.
TEST(KeptMemory, DoesNotMakeTheProcessGrow) {
  const KeptMemory kept;
  const size_t at_once = KeptMemory::bytes() + 3 * kTensor;
  for (size_t i = 1; i <= 12; ++i) {
    void* memory = allocate_aligned(64, i * kTensor / 4);
    release_memory(memory);
    EXPECT_LE(KeptMemory::bytes(), at_once + kTensor) << i;
  }
}

TEST(KeptMemory, NothingIsKeptWhereNobodyAsks) {
  release_memory(allocate_aligned(64, kTensor));
  EXPECT_EQ(KeptMemory::bytes(), 0);
}

TEST(KeptMemory, IsSharedByThreads) {
  const KeptMemory kept;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) {
        auto* memory = static_cast<unsigned char*>(allocate_aligned(64, kTensor / 8 + 4096 * t));
        memory[0] = static_cast<unsigned char>(t);
        memory[kTensor / 8] = memory[0];
        EXPECT_EQ(memory[0], t);
        release_memory(memory);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
#endif

}  // namespace
}  // namespace vernier
