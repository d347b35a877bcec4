// Histograms that widen, and do not depend on order or splitting.
#include "vernier/calibrate/range_histogram.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "vernier/base/threads.h"

namespace vernier {
namespace {

std::vector<float> drawn(size_t count, float scale, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

bool same(const RangeHistogram& a, const RangeHistogram& b) {
  const auto x = a.bins(), y = b.bins();
  return a.count() == b.count() && a.zeros() == b.zeros() && a.low() == b.low() && a.high() == b.high() &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& one, const auto& other) {
           return one.from == other.from && one.to == other.to && one.count == other.count;
         });
}

TEST(RangeHistogram, CountsEachValueInItsBin) {
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{0, -0.0F, 1, 1, -1, 0.25, 1e-30F}));
  EXPECT_EQ(histogram.count(), 7u);
  EXPECT_EQ(histogram.zeros(), 2u);
  EXPECT_EQ(histogram.low(), -1);
  EXPECT_EQ(histogram.high(), 1);
  const auto bins = histogram.bins();
  ASSERT_EQ(bins.size(), 4u);  // -1, the smallest, 0.25 and 1
  const double width = 1.0 / (RangeHistogram::kBins / 2);
  for (const auto& bin : bins) EXPECT_EQ(bin.to - bin.from, width);
  EXPECT_EQ(bins[0].to, -1);
  EXPECT_EQ(bins[1].from, 0);
  EXPECT_EQ(bins[2].from, 0.25);
  EXPECT_EQ(bins[3].from, 1);
  EXPECT_EQ(bins[3].count, 2u);
}

// The classic fault of calibrators: the range doubles when a later batch is larger, and half of the bins stay
// empty or count twice.
TEST(RangeHistogram, TheOrderOfBatchesDoesNotCount) {
  std::vector<std::vector<float>> batches;
  for (uint32_t i = 0; i < 6; ++i)
    batches.push_back(drawn(3000 + 7000 * i, std::ldexp(1.0F, 3 * static_cast<int>(i) - 9), i));
  batches.push_back({1.0F, 1.0F, 1.01F});
  batches.push_back({0.0F, 0.0F});
  batches.push_back({3e38F});
  batches.push_back({1e-45F, -1e-45F});
  RangeHistogram forward, backward, by_one, merged;
  for (const auto& batch : batches) ASSERT_TRUE(forward.add(batch));
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) ASSERT_TRUE(backward.add(*batch));
  for (const auto& batch : batches) {
    RangeHistogram part;
    ASSERT_TRUE(part.add(batch));
    merged.merge(part);
    if (batch.size() > 20000) {
      by_one.add(batch);
      continue;
    }
    for (const float value : batch) ASSERT_TRUE(by_one.add({&value, 1}));
  }
  EXPECT_TRUE(same(forward, backward));
  EXPECT_TRUE(same(forward, by_one));
  EXPECT_TRUE(same(forward, merged));
  RangeHistogram other;
  ASSERT_TRUE(other.add(batches[0]));
  EXPECT_FALSE(same(forward, other));
}

TEST(RangeHistogram, TheNumberOfThreadsDoesNotCount) {
  const auto values = drawn(1'000'000, 1, 3);
  RangeHistogram many, one;
  ASSERT_TRUE(many.add(values));
  set_thread_count(1);
  ASSERT_TRUE(one.add(values));
  set_thread_count(0);
  EXPECT_TRUE(same(many, one));
  EXPECT_EQ(many.count(), 1'000'000u);
}

TEST(RangeHistogram, WidensAsWiderBinsWouldHaveCounted) {
  const auto values = drawn(5000, 1, 4);
  RangeHistogram merged, wide;
  ASSERT_TRUE(merged.add(values));
  ASSERT_TRUE(merged.add(std::vector<float>{1000}));
  ASSERT_TRUE(wide.add(std::vector<float>{1000}));
  ASSERT_TRUE(wide.add(values));
  EXPECT_TRUE(same(merged, wide));
}

TEST(RangeHistogram, RefusesWhatIsNotFinite) {
  for (const float wrong :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    RangeHistogram histogram;
    EXPECT_FALSE(histogram.add(std::vector<float>{1, wrong, 2})) << wrong;
    EXPECT_EQ(histogram.count(), 0u);
    ASSERT_TRUE(histogram.add(std::vector<float>{std::numeric_limits<float>::max()}));
  }
}

TEST(RangeHistogram, TellsWhatLiesInARange) {
  RangeHistogram histogram;
  std::vector<float> values;
  for (int i = -1000; i <= 1000; ++i) values.push_back(static_cast<float>(i) / 1000);
  ASSERT_TRUE(histogram.add(values));
  EXPECT_EQ(histogram.count_within(-1, 1), 2001);
  EXPECT_NEAR(histogram.count_within(-0.5, 1), 1501, 1);
  EXPECT_NEAR(histogram.count_within(0, 0.25), 251, 1);
  EXPECT_EQ(histogram.count_within(2, 3), 0);
  RangeHistogram ones;
  ASSERT_TRUE(ones.add(std::vector<float>{1, 1, 1}));
  EXPECT_EQ(ones.count_within(0, 1), 3);
  EXPECT_EQ(ones.count_within(0, 0.999), 0);
}

}  // namespace
}  // namespace vernier
