#include <gtest/gtest.h>

#include "vernier/bench/paired_timing.h"

namespace vernier {
namespace {

TEST(Statistics, PercentilesLieBetweenOrderStatistics) {
  const Summary s = summarise({4, 1, 3, 2, 5});
  EXPECT_DOUBLE_EQ(s.p50, 3);
  EXPECT_DOUBLE_EQ(s.p90, 4.6);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 5);
}

TEST(Statistics, TheIntervalHoldsTheMedianAndShrinks) {
  std::vector<double> few, many;
  for (int i = 0; i < 10; ++i) few.push_back(i % 5);
  for (int i = 0; i < 1000; ++i) many.push_back(i % 5);
  const Interval wide = median_interval(few, 1), narrow = median_interval(many, 1);
  EXPECT_LE(wide.low, 2);
  EXPECT_GE(wide.high, 2);
  EXPECT_LT(narrow.high - narrow.low, wide.high - wide.low);
}

// Pretends to take a fixed time.
class Clockwork : public Runner {
 public:
  Clockwork(std::string name, double seconds) : name_(std::move(name)), seconds_(seconds) {}
  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData&, const std::vector<std::string>&) override { return {}; }
  std::vector<double> time(const NamedData&, size_t runs) override {
    total += runs;
    return std::vector<double>(runs, seconds_);
  }
  size_t total = 0;

 private:
  std::string name_;
  double seconds_;
};

TEST(PairedTiming, RatiosAreOfTheOtherToTheFirst) {
  Clockwork first("a", 0.01), second("b", 0.03);
  const auto result =
      time_paired({&first, &second}, {}, {.warmup = 0.05, .duration = 0.5, .min_runs = 30, .rounds = 5});
  ASSERT_EQ(result.ratios.size(), 1U);
  EXPECT_DOUBLE_EQ(result.ratios[0], 3);
  EXPECT_DOUBLE_EQ(result.intervals[0].low, 3);
  EXPECT_GE(result.seconds.size(), 50U);
  EXPECT_GE(result.others[0].size(), 30U);
}

}  // namespace
}  // namespace vernier
