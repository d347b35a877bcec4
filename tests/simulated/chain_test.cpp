// Defects of a session, and what finds them.
#include "simulated/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier::simulated {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSeeds = 50;

SimulatedOptions options(uint64_t seed, std::optional<DeviceFault> fault = std::nullopt) {
  SimulatedOptions result;
  result.seed = seed;
  result.fault = fault;
  return result;
}

// Gives what the first run throws; empty if nothing.
std::string error_of(Chain& chain) {
  try {
    chain.run();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Chain, IsRightInEveryOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimulatedBackend backend(options(seed));
    Chain chain(backend);
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(error_of(chain), "");
      ASSERT_EQ(chain.y, Chain::expected());
    }
    EXPECT_TRUE(backend.device().findings().empty());
  }
}

TEST(Chain, EveryMissingWaitIsFoundInEveryOrderAndWrongInSome) {
  for (size_t wait = 0; wait < Chain::kWaits; ++wait) {
    size_t wrong = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      SimulatedBackend backend(options(seed, DeviceFault{DeviceFault::Kind::kDropWait, wait}));
      Chain chain(backend);
      EXPECT_THAT(error_of(chain), HasSubstr("race: nothing orders"));
      EXPECT_FALSE(backend.device().findings().empty());
      wrong += chain.y != Chain::expected();
      chain.drain();
      EXPECT_EQ(error_of(chain), "");  // of the next run, where nothing is missing
      EXPECT_EQ(chain.y, Chain::expected());
    }
    EXPECT_GT(wrong, 0u) << "wait " << wait;
    EXPECT_LT(wrong, kSeeds) << "wait " << wait;
  }
}

TEST(Chain, EveryMissingCopyIsSeenInTheResult) {
  for (size_t copy = 0; copy < Chain::kCopies; ++copy) {
    SimulatedBackend backend(options(1, DeviceFault{DeviceFault::Kind::kDropCopy, copy}));
    Chain chain(backend);
    EXPECT_EQ(error_of(chain), "");
    EXPECT_NE(chain.y, Chain::expected()) << "copy " << copy;
  }
}

TEST(Chain, MemoryThatIsFreedTooEarlyIsFound) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimulatedBackend backend(options(seed, DeviceFault{DeviceFault::Kind::kFreeEarly, 0}));
    Chain chain(backend);
    const std::string error = error_of(chain);
    EXPECT_THAT(error, HasSubstr("freeing by the host"));
    EXPECT_THAT(error, HasSubstr("use of freed memory"));
    chain.drain();
    EXPECT_EQ(error_of(chain), "");
    EXPECT_EQ(chain.y, Chain::expected());
  }
}

TEST(Chain, ManyRunsNeedNoMoreMemoryThanOne) {
  SimulatedBackend backend(options(1));
  Chain chain(backend);
  for (int run = 0; run < 10000; ++run) {
    chain.run();
    ASSERT_EQ(backend.device().order().remembered(), 0u);
    ASSERT_EQ(backend.device().memory().bytes_in_use(), 0u);
  }
  EXPECT_EQ(chain.y, Chain::expected());
}

TEST(Chain, IsRightOnThreads) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto threads = options(seed);
    threads.threads = true;
    SimulatedBackend backend(threads);
    Chain chain(backend);
    ASSERT_EQ(error_of(chain), "");
    ASSERT_EQ(chain.y, Chain::expected());
  }
}

TEST(Chain, AMissingWaitIsFoundOnThreadsToo) {
  auto threads = options(1, DeviceFault{DeviceFault::Kind::kDropWait, 0});
  threads.threads = true;
  SimulatedBackend backend(threads);
  Chain chain(backend);
  EXPECT_THAT(error_of(chain), HasSubstr("race: nothing orders"));
}

}  // namespace
}  // namespace vernier::simulated
