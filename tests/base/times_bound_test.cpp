#include "vernier/base/times_bound.h"

#include <gtest/gtest.h>

#include <limits>

namespace vernier {
namespace {

TEST(TimesBound, NoFactorIsInfiniteOrNaN) {
  constexpr double kInf = std::numeric_limits<double>::infinity(),
                   kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(times_bound(31.4, 0.02), "31.4 times the bound of 0.02");
  EXPECT_EQ(times_bound(kInf, 0.02, "its"), "beyond its bound of 0.02");
  EXPECT_EQ(times_bound(kInf, 0.0), "beyond the bound of 0");
  EXPECT_EQ(times_bound(kNaN, kNaN), "and no bound is known");
}

}  // namespace
}  // namespace vernier
