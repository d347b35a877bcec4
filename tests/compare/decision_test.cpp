// These may turn a difference into another verdict than a failure: noise, draws and ties.
#include "vernier/compare/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces.h"

namespace vernier {
namespace {

using testing::HasSubstr;

CompareOptions noisy(const char* atol = nullptr) {
  CompareOptions options;
  options.noise_floor["y"] = {.relative_l2 = 1e-3, .max_abs = 1e-2, .unit_roundoff = 6e-8};
  if (atol != nullptr) options.tolerances.atol.parse(atol);
  return options;
}

TEST(Noise, DecidesWhereTheUserGaveNoTolerance) {
  const Tensor reference = floats({1, 20}), actual = floats({1, 20.03});
  EXPECT_EQ(judge(reference, actual).verdict, Verdict::kFail);
  EXPECT_EQ(judge(reference, actual, noisy()).verdict, Verdict::kPass);
  for (const char* given : {"1e-3", "y:1e-3"}) {
    const ComparisonResult result = judge(reference, actual, noisy(given));
    EXPECT_EQ(result.verdict, Verdict::kFail);
    EXPECT_EQ(result.tensors[0].failed_samples, 1U);
    EXPECT_THAT(all_reasons(result), HasSubstr("the difference is within rounding noise"));
  }
}

TEST(Noise, MistrustsNothingBeyondAToleranceOfTheUser) {
  CompareOptions mistrusting = noisy();
  mistrusting.noise_floor["y"].relative_l2 = 0.1;  // ill-conditioned
  EXPECT_EQ(judge(floats({1, 20}), floats({1, 20.03}), mistrusting).verdict, Verdict::kMistrusted);
  mistrusting.tolerances.rtol.parse("1e-6");
  EXPECT_EQ(judge(floats({1, 20}), floats({1, 20.03}), mistrusting).verdict, Verdict::kFail);
}

TEST(Noise, AToleranceOfTheUserIsNotWidenedForUnroundedIntegers) {
  TraceEntry ideal = output("y", floats({1.4, 8.7}, ElementType::kDouble));
  ideal.declared = ElementType::kInt8;
  const auto verdict = [&](const CompareOptions& options) {
    return compare(trace("ideal", {ideal}),
                   trace("engine", {output("y", Tensor::from<int8_t>(ElementType::kInt8, {2}, {1, 10}))}),
                   options)
        .verdict;
  };
  CompareOptions given;
  given.tolerances.atol.parse("y:1");
  EXPECT_EQ(verdict(given), Verdict::kFail);
  given.tolerances.atol.named["y"] = 1.5;
  EXPECT_EQ(verdict(given), Verdict::kPass);
}

TEST(Draws, AreNotComparedButTheirSizesAre) {
  CompareOptions options;
  options.random_values["y"] = "node 'noise' (RandomNormal)";
  for (const double other : {2.0, 5.0}) {
    const ComparisonResult result = judge(floats({1, 2}), floats({1, other}), options);
    EXPECT_EQ(result.verdict, Verdict::kNotCompared);
    EXPECT_THAT(all_reasons(result), HasSubstr("random: node 'noise' (RandomNormal)"));
  }
  EXPECT_EQ(judge(floats({1, 2}), floats({1, 2, 3}), options).verdict, Verdict::kFail);
  EXPECT_EQ(judge(floats({1, 2}), floats({1, 2}, ElementType::kDouble), options).verdict, Verdict::kFail);
}

TEST(Ties, AreNamedByWhatPassesOnly) {
  const Decision tie{"top", "TopK", 0.731, 0.7309, 1e-7, 2e-7, 2};
  Comparison comparison;
  const auto add = [&](size_t sample, double actual) {
    comparison.add(trace("reference", {output("y", floats({1, 2})), output("z", floats({1, 2}))}, sample),
                   trace("engine", {output("y", floats({1, 2})), output("z", floats({1, actual}))}, sample),
                   {{"y", {tie}}, {"z", {tie}}});
  };
  add(0, 2);
  add(1, 2);
  ComparisonResult result = comparison.result();
  EXPECT_EQ(result.verdict, Verdict::kPass);
  ASSERT_EQ(result.tensors[0].decisions.size(), 1U);
  EXPECT_EQ(result.tensors[0].decisions[0].rows_swapped, 4);
  EXPECT_THAT(all_reasons(result),
              HasSubstr("decided by a tie: TopK 'top' chose between 0.731 and 0.731 (margin "
                        "1e-07, error that reached it 2e-07); 4 rows matched across the swap"));
  add(2, 3);
  EXPECT_EQ(comparison.result().tensors[1].verdict, Verdict::kFail);
}

TEST(Ties, OfSeveralSamplesKeepTheWidestMargin) {
  Decision tie{"top", "TopK", 0.5, 0.4, 0.1, 0.2, 2};
  tie.merge({"top", "TopK", 0.9, 0.6, 0.3, 0.4, 1});
  EXPECT_EQ(tie.margin, 0.3);
  EXPECT_EQ(tie.chosen, 0.9);
  EXPECT_EQ(tie.rows_swapped, 3);
  tie.merge({"top", "TopK", 0.9, 0.6, 0.01, 0.4, 1});
  EXPECT_EQ(tie.margin, 0.3);
  EXPECT_EQ(tie.rows_swapped, 4);
}

}  // namespace
}  // namespace vernier
