#include "vernier/base/vector_state.h"

#include <gtest/gtest.h>

#include <vector>

#include "upper_lanes.h"
#include "vernier/base/hash.h"

namespace vernier {
namespace {

TEST(VectorState, TellsAndClearsUpperHalves) {
  clear_upper_lanes();
  const auto clear = were_upper_lanes_clear();
  if (!clear) GTEST_SKIP() << "the processor does not tell";
  EXPECT_TRUE(*clear);
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "the processor has no upper lanes";
  asm volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" : : : "xmm0");
  EXPECT_EQ(were_upper_lanes_clear(), false);
#endif
  EXPECT_EQ(were_upper_lanes_clear(), true);  // asking has cleared them
}

TEST(VectorState, HashesLeaveUpperHalvesClear) {
  const std::vector<char> data(100'000);
  for (const size_t size : {0, 8, 100, 240, 241, 1024, 5000, 100'000}) {
    clear_upper_lanes();
    hash_bytes(data.data(), size);
    EXPECT_NE(were_upper_lanes_clear(), false) << size;
  }
}

}  // namespace
}  // namespace vernier
