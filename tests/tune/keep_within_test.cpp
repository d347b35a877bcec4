#include <gtest/gtest.h>

#include <cmath>

#include "vernier/tune/exchangeable_kernels.h"

namespace vernier {
namespace {

using Kept = std::vector<bool>;

TEST(KeepWithin, AllThatFits) {
  EXPECT_EQ(keep_within_limit({}), Kept());
  EXPECT_EQ(keep_within_limit({{1, {0.5, 0}}, {1, {0.5, 1}}}), Kept({true, true}));
}

TEST(KeepWithin, TheOneThatTakesMostForWhatItSavesGoes) {
  EXPECT_EQ(keep_within_limit({{1, {0.6}}, {1, {0.7}}, {1, {0.3}}}), Kept({true, false, true}));
  EXPECT_EQ(keep_within_limit({{1, {0.6}}, {3, {0.7}}, {1, {0.3}}}), Kept({false, true, true}));
}

TEST(KeepWithin, EveryPlaceHasALimit) {
  EXPECT_EQ(keep_within_limit({{1, {0.1, 0.9}}, {1, {0.9, 0}}, {1, {0, 0.2}}}), Kept({false, true, true}));
}

TEST(KeepWithin, WhatFitsAfterAllIsTakenBack) {
  // The first goes first, for what it takes where too much is; when the second has gone, too, it fits again.
  EXPECT_EQ(keep_within_limit({{1, {0.9}}, {4, {1.2}}}), Kept({true, false}));
}

TEST(KeepWithin, WhatSavesNothingGoesFirst) {
  EXPECT_EQ(keep_within_limit({{0, {0.2}}, {5, {0.9}}}), Kept({false, true}));
}

TEST(KeepWithin, WhatHasNoBoundIsNeverKept) {
  EXPECT_EQ(keep_within_limit({{9, {HUGE_VAL}}, {9, {std::nan("")}}, {1, {1}}}), Kept({false, false, true}));
  EXPECT_EQ(keep_within_limit({{9, {2}}}), Kept({false}));
}

}  // namespace
}  // namespace vernier
