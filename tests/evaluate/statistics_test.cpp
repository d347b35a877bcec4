// Against published values, and against those of independent implementations, which each test names.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

#include "vernier/base/threads.h"
#include "vernier/evaluate/statistics/bootstrap.h"
#include "vernier/evaluate/statistics/gate.h"
#include "vernier/evaluate/statistics/holm.h"
#include "vernier/evaluate/statistics/normal.h"
#include "vernier/evaluate/statistics/paired_proportions.h"

namespace vernier {
namespace {

TEST(Normal, QuantilesAreThoseOfTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-13);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-12);
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_EQ(normal_quantile(0), -INFINITY);
  EXPECT_EQ(normal_quantile(1), INFINITY);
  for (const double z : {-6.0, -1.0, 0.0, 0.3, 2.0, 5.0})
    EXPECT_NEAR(normal_quantile(normal_cdf(z)), z, 1e-8);
}

// Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
TEST(Wilson, IsWhatNewcombePrints) {
  const auto expect = [](double hits, double rows, double low, double high) {
    const ConfidenceInterval found = wilson_interval(hits, rows, 0.95);
    EXPECT_NEAR(found.low, low, 5e-5);
    EXPECT_NEAR(found.high, high, 5e-5);
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
  EXPECT_EQ(wilson_interval(0, 0, 0.95).high, 1);
}

TEST(McNemar, IsTheTwoSidedBinomialTest) {  // scipy.stats.binomtest
  EXPECT_NEAR(mcnemar_exact(12, 2), 0.012939453125, 1e-12);
  EXPECT_NEAR(mcnemar_exact(2, 12), 0.012939453125, 1e-12);
  EXPECT_NEAR(mcnemar_exact(14, 8), 0.28627872467041016, 1e-12);
  EXPECT_NEAR(mcnemar_exact(1, 10), 0.01171875, 1e-12);
  EXPECT_EQ(mcnemar_exact(0, 0), 1);
  EXPECT_EQ(mcnemar_exact(5, 5), 1);
  EXPECT_LT(mcnemar_exact(400, 200), 1e-15);
}

// The constrained likelihood maximised numerically, and the roots found, by scipy.
TEST(Tango, IsTheScoreInterval) {
  const auto expect = [](PairedCounts counts, double low, double high, double score_at_5_percent) {
    const ConfidenceInterval found = tango_interval(counts, 0.95);
    EXPECT_NEAR(found.low, low, 2e-6);
    EXPECT_NEAR(found.high, high, 2e-6);
    EXPECT_NEAR(tango_score(counts, 0.05), score_at_5_percent, 1e-5);
  };
  expect({50, 12, 2}, 0.06111240, 0.34470875, 2.0973482);
  expect({200, 5, 1}, -0.00555581, 0.05287587, -1.8290052);
  expect({1000, 0, 0}, -0.00382676, 0.00382676, -7.2547625);
  expect({500, 14, 8}, -0.00692819, 0.03245512, -3.2674802);
  expect({30, 1, 10}, -0.49043124, -0.09956918, -3.0646784);
  EXPECT_EQ(tango_interval({0, 0, 0}, 0.95).high, 1);
}

RowStatistic mean_of(const std::vector<double>& values) {
  return [&values](std::span<const uint32_t> counts) {
    double sum = 0, rows = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += counts[i] * values[i], rows += counts[i];
    return sum / rows;
  };
}

// Efron and Tibshirani, "An Introduction to the Bootstrap", the law schools: 90 % of the correlation lie
// between 0.43 and 0.92; scipy.stats.bootstrap says 0.425 and 0.928.
TEST(BiasCorrectedBootstrap, HasTheIntervalOfTheLawSchools) {
  const std::vector<double> lsat{576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594};
  const std::vector<double> gpa{3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43,
                                3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96};
  const Bootstrap correlation(lsat.size(),
                              [&](std::span<const uint32_t> counts) {
                                double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
                                for (size_t i = 0; i < lsat.size(); ++i) {
                                  const double w = counts[i], a = lsat[i], b = gpa[i];
                                  n += w, x += w * a, y += w * b, xx += w * a * a, yy += w * b * b,
                                      xy += w * a * b;
                                }
                                return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
                              },
                              {.seed = 1});
  EXPECT_NEAR(correlation.value(), 0.776, 1e-3);
  EXPECT_NEAR(correlation.interval(0.9).low, 0.43, 0.02);
  EXPECT_NEAR(correlation.interval(0.9).high, 0.925, 0.01);
}

TEST(BiasCorrectedBootstrap, IsSkewedAsItsData) {  // scipy.stats.bootstrap: 4.8 to 21.4
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 20, 40};
  const ConfidenceInterval found = Bootstrap(10, mean_of(values), {.seed = 3}).interval(0.95);
  EXPECT_NEAR(found.low, 4.8, 0.2);
  EXPECT_NEAR(found.high, 21.4, 0.7);
}

TEST(BiasCorrectedBootstrap, DependsOnItsSeedAndOnNothingElse) {
  std::vector<double> values(2500);
  std::mt19937_64 random(1);
  for (double& value : values) value = static_cast<double>(random() % 1000) / 1000;
  const auto interval = [&](uint64_t seed, int threads) {
    set_thread_count(threads);
    const ConfidenceInterval found = Bootstrap(values.size(), mean_of(values), {seed}).interval(0.95);
    set_thread_count(0);
    return std::pair(found.low, found.high);
  };
  EXPECT_EQ(interval(1, 1), interval(1, 4));
  EXPECT_NE(interval(1, 1), interval(2, 1));
  // The mean of so many rows has a normal distribution, whose interval is known.
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 2500;
  EXPECT_NEAR(interval(1, 1).first, mean - 1.96 * 0.2887 / 50, 6e-4);
  EXPECT_NEAR(interval(1, 1).second, mean + 1.96 * 0.2887 / 50, 6e-4);
}

TEST(BiasCorrectedBootstrap, SaysHowSureAQuantileIs) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 20, 40};
  const Bootstrap mean(10, mean_of(values), {.seed = 3});
  for (const double confidence : {0.05, 0.5, 0.95})
    EXPECT_NEAR(mean.confidence_below(mean.quantile(confidence)), confidence, 0.02);
  EXPECT_GT(mean.confidence_below(1000), 0.99);
  EXPECT_LT(mean.confidence_below(1000), 1);
  EXPECT_GT(mean.confidence_below(-1000), 0);
}

TEST(Holm, StepsDown) {
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}),
              testing::ElementsAre(testing::DoubleEq(0.03), testing::DoubleEq(0.06), testing::DoubleEq(0.06),
                                   testing::DoubleEq(0.02)));
  EXPECT_THAT(holm({0.6, 0.7}), testing::ElementsAre(1, 1));
  EXPECT_TRUE(holm({}).empty());
}

Verdict verdict(const GateEvidence& evidence) {
  return verdict_of(evidence, evidence.p_below);
}

TEST(Gate, PassesWhereTheDropIsSurelySmaller) {
  const GateEvidence sound = evidence_of(PairedCounts{5000, 6, 4}, 0.005, 0.05);
  EXPECT_EQ(verdict(sound), Verdict::kPass);
  EXPECT_LT(sound.bound, 0.005);
}

TEST(Gate, FailsWhereItIsSurelyLarger) {
  EXPECT_EQ(verdict(evidence_of(PairedCounts{5000, 100, 4}, 0.005, 0.05)), Verdict::kFail);
}

TEST(Gate, TellsHowManyRowsWouldDo) {
  // Nothing differs, and yet so few rows say little of others.
  const GateEvidence few = evidence_of(PairedCounts{100, 0, 0}, 0.005, 0.05);
  EXPECT_EQ(verdict(few), Verdict::kMistrusted);
  ASSERT_TRUE(few.rows_needed);
  EXPECT_EQ(verdict(evidence_of(PairedCounts{*few.rows_needed, 0, 0}, 0.005, 0.05)), Verdict::kPass);
  EXPECT_EQ(verdict(evidence_of(PairedCounts{*few.rows_needed - 1, 0, 0}, 0.005, 0.05)),
            Verdict::kMistrusted);
  // A drop at the limit stays there.
  EXPECT_FALSE(evidence_of(PairedCounts{1000, 5, 0}, 0.005, 0.05).rows_needed);
  EXPECT_EQ(verdict(evidence_of(PairedCounts{0, 0, 0}, 0.005, 0.05)), Verdict::kMistrusted);
}

TEST(Gate, AsksForMoreWhereSeveralAreJudged) {
  const PairedCounts counts{700, 0, 0};
  const GateEvidence evidence = evidence_of(counts, 0.005, 0.05);
  EXPECT_EQ(verdict_of(evidence, holm({evidence.p_below})[0]), Verdict::kPass);
  EXPECT_EQ(verdict_of(evidence, holm({evidence.p_below, 0.9})[0]), Verdict::kMistrusted);
}

TEST(Gate, JudgesMeansByTheBootstrap) {
  std::vector<double> drops(40);
  for (size_t i = 0; i < drops.size(); ++i) drops[i] = 0.1 + 0.01 * static_cast<double>(i % 5);
  const Bootstrap drop(drops.size(), mean_of(drops), {});
  EXPECT_EQ(verdict(evidence_of(drop, drops.size(), 0.2, 0.05)), Verdict::kPass);
  EXPECT_EQ(verdict(evidence_of(drop, drops.size(), 0.1, 0.05)), Verdict::kFail);
  EXPECT_EQ(verdict(evidence_of(drop, drops.size(), 0.121, 0.05)), Verdict::kMistrusted);
  EXPECT_GT(*evidence_of(drop, drops.size(), 0.121, 0.05).rows_needed, 40);
  // Equal rows, but few of them.
  const std::vector<double> none(5, 0.0);
  EXPECT_EQ(verdict(evidence_of(Bootstrap(5, mean_of(none), {}), 5, 1, 0.05)), Verdict::kMistrusted);
}

}  // namespace
}  // namespace vernier
