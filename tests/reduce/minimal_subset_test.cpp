#include "vernier/reduce/minimal_subset.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace vernier {
namespace {

using ::testing::ElementsAre;

struct Outcome {
  std::vector<size_t> found;
  size_t asked = 0;
};

Outcome search(size_t count, const std::set<size_t>& needed) {
  Outcome result;
  result.found = minimal_subset(count, [&](const std::vector<size_t>& items) {
    ++result.asked;
    return std::all_of(needed.begin(), needed.end(), [&](size_t each) {
      return std::find(items.begin(), items.end(), each) != items.end();
    });
  });
  return result;
}

TEST(MinimalSubset, OneItemIsFoundByHalving) {
  for (const size_t needed : {size_t{0}, size_t{57}, size_t{174}}) {
    const Outcome found = search(175, {needed});
    EXPECT_THAT(found.found, ElementsAre(needed));
    EXPECT_LE(found.asked, 17U) << needed;
  }
}

TEST(MinimalSubset, ItemsThatAreNeededTogetherAreKept) {
  EXPECT_THAT(search(64, {3, 60}).found, ElementsAre(3, 60));
  EXPECT_THAT(search(64, {31, 32}).found, ElementsAre(31, 32));
  EXPECT_THAT(search(40, {0, 13, 14, 39}).found, ElementsAre(0, 13, 14, 39));
}

TEST(MinimalSubset, NothingIsLeftOutWhereAllIsNeeded) {
  EXPECT_THAT(search(5, {0, 1, 2, 3, 4}).found, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(search(1, {}).found, ElementsAre(0));
}

TEST(MinimalSubset, NoSubsetIsAskedAboutTwice) {
  std::set<std::vector<size_t>> asked;
  minimal_subset(24, [&](const std::vector<size_t>& items) {
    EXPECT_TRUE(asked.insert(items).second);
    return std::count_if(items.begin(), items.end(), [](size_t each) { return each % 5 == 0; }) >= 3;
  });
}

TEST(MinimalSubset, WhatIsSmallestWhenTheAnswersEndIsGiven) {
  size_t asked = 0;
  const auto found = minimal_subset(64, [&](const std::vector<size_t>& items) {
    return ++asked <= 2 && std::find(items.begin(), items.end(), 5U) != items.end();
  });
  EXPECT_LT(found.size(), 64U);
  EXPECT_NE(std::find(found.begin(), found.end(), 5U), found.end());
}

}  // namespace
}  // namespace vernier
