// The ways in which other tools pass what is broken, each as a test in which Vernier does not. F3, F11 and
// F12 concern how data is read and made (tests/data), F13 and F14 what a narrower type does to it
// (tests/check).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "traces.h"

namespace vernier {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(FailOpen, F1_NanOnlyOutputFails) {
  const ComparisonResult result = judge(floats({1, 2, 3}), floats({kNan, kNan, kNan}));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(result.tensors[0].metrics.nan_mismatches, 3);
  EXPECT_EQ(result.tensors[0].metrics.mismatching, 3);
  const Distances& distances = *result.tensors[0].metrics.distances;
  for (double distance : {distances.max_abs, distances.mean_abs, distances.rmse, distances.relative_l2,
                          *distances.max_ulp, distances.required_atol, distances.required_rtol}) {
    EXPECT_EQ(distance, kInf);
  }
}

TEST(FailOpen, F1_OneNanAmongManyFailsWhateverTheTolerance) {
  std::vector<double> values(100000, 1), broken = values;
  values[0] = 2;
  broken[0] = 2;
  broken[77777] = kNan;
  CompareOptions options;
  options.tolerances.atol.general = std::numeric_limits<double>::max();
  options.tolerances.rtol.general = std::numeric_limits<double>::max();
  const ComparisonResult result = judge(floats(values), floats(broken), options);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(result.tensors[0].worst->index, Dims{77777});
}

TEST(FailOpen, F1_NanOnBothSidesIsNoPass) {
  EXPECT_EQ(judge(floats({kNan, kNan}), floats({kNan, kNan})).verdict, Verdict::kMistrusted);
  EXPECT_EQ(judge(floats({1, kNan, 3}), floats({1, kNan, 3})).verdict, Verdict::kMistrusted);
  EXPECT_EQ(judge(floats({1, 2, 3}), floats({1, 2, 3})).verdict, Verdict::kPass);
}

TEST(FailOpen, F2_MissingOutputFails) {
  const Trace reference = trace("reference", {output("y", floats({1, 2})), output("z", floats({3, 4}))});
  const Trace actual = trace("engine", {output("y", floats({1, 2}))});
  const ComparisonResult result = compare(reference, actual);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_THAT(all_reasons(result), HasSubstr("z: the actual run has no such output"));
}

TEST(FailOpen, F2_EveryElementTypeIsCompared) {
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    Tensor reference(type, {2}), right(type, {2}), wrong(type, {2});
    visit_element_type(type, [&]<class T>(TypeTag<T>) {
      const auto value = [](int content) {
        if constexpr (std::is_same_v<T, std::string>)
          return std::to_string(content);
        else if constexpr (std::is_same_v<T, bool>)
          return content != 0;
        else if constexpr (requires { T::kMax; })
          return T(int64_t{content});
        else if constexpr (std::is_arithmetic_v<T>)
          return static_cast<T>(content);
        else
          return T(static_cast<double>(content));
      };
      reference.mutable_values<T>()[0] = right.mutable_values<T>()[0] = wrong.mutable_values<T>()[0] =
          value(0);
      reference.mutable_values<T>()[1] = right.mutable_values<T>()[1] = value(1);
      wrong.mutable_values<T>()[1] = type == ElementType::kFloat8E8M0 ? T() : value(0);
    });
    if (type == ElementType::kFloat8E8M0) {  // a power of two: it has no zero
      for (Tensor* tensor : {&reference, &right, &wrong})
        tensor->mutable_values<Float8E8M0>()[0] = Float8E8M0(4.0);
    }
    EXPECT_EQ(judge(reference, right).verdict, Verdict::kPass) << element_type_name(type);
    EXPECT_EQ(judge(reference, wrong).verdict, Verdict::kFail) << element_type_name(type);
  }
}

TEST(FailOpen, F4_WithoutReferenceNothingPasses) {
  const Trace engine = trace("engine", {output("y", floats({1, 2}))});
  EXPECT_EQ(compare(std::span<const Trace>(), std::span<const Trace>()).verdict, Verdict::kNotCompared);
  EXPECT_EQ(compare(std::span<const Trace>(), std::span(&engine, 1)).verdict, Verdict::kFail);
  EXPECT_EQ(compare(trace("reference", {}), trace("engine", {})).verdict, Verdict::kNotCompared);
  EXPECT_EQ(Comparison().result().verdict, Verdict::kNotCompared);
}

TEST(FailOpen, F4_WrongSecondRowOfABatchFails) {
  const std::vector<double> right{1, 2, 3, 4}, wrong{1, 2, 3000, 4000};
  const auto batch = [](const std::vector<double>& values) {
    return Tensor::from_doubles(ElementType::kFloat, {2, 2}, values);
  };
  const ComparisonResult result = judge(batch(right), batch(wrong));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(result.tensors[0].worst->index, (Dims{1, 1}));
}

TEST(FailOpen, F4_ARunComparedWithItselfProvesNothing) {
  const Trace once = trace("engine", {output("y", floats({1, 2}))});
  EXPECT_EQ(compare(once, once).verdict, Verdict::kMistrusted);
}

TEST(FailOpen, F5_NamesPairExactlyOrNotAtAll) {
  const Trace reference = trace("reference", {output("out", floats({1, 2}))});
  for (const char* name : {"foo_out_7", "OUT", "other"}) {
    const ComparisonResult result = compare(reference, trace("engine", {output(name, floats({1, 2}))}));
    EXPECT_EQ(result.verdict, Verdict::kFail) << name;
    EXPECT_EQ(result.tensors.size(), 2u);
  }
  EXPECT_EQ(compare(reference, trace("engine", {output("out", floats({1, 2}))})).verdict, Verdict::kPass);
}

TEST(FailOpen, F5_ExtraOutputFails) {
  const Trace reference = trace("reference", {output("y", floats({1, 2}))});
  const Trace actual = trace("engine", {output("y", floats({1, 2})), output("extra", floats({kNan}))});
  EXPECT_EQ(compare(reference, actual).verdict, Verdict::kFail);
}

TEST(FailOpen, F5_ATensorNamedTwiceFails) {
  const Trace reference = trace("reference", {output("y", floats({1, 2}))});
  const Trace actual = trace("engine", {output("y", floats({1, 2})), output("y", floats({9, 9}))});
  EXPECT_EQ(compare(reference, actual).verdict, Verdict::kFail);
}

TEST(FailOpen, F6_WhatCannotBeMeasuredIsNoPass) {
  EXPECT_EQ(judge(Tensor(), Tensor()).verdict, Verdict::kFail);
  EXPECT_EQ(judge(floats({}), floats({})).verdict, Verdict::kNotCompared);
  EXPECT_EQ(judge(Datum::none(), Datum::none()).verdict, Verdict::kNotCompared);
  EXPECT_EQ(judge(Datum::of_sequence({}), Datum::of_sequence({})).verdict, Verdict::kNotCompared);
  // A noise floor that is NaN excuses nothing.
  CompareOptions options;
  options.noise_floor["y"] = {.relative_l2 = kNan, .max_abs = kNan};
  EXPECT_EQ(judge(floats({1, 2}), floats({1, 9}), options).verdict, Verdict::kFail);
}

TEST(FailOpen, F7_NanNeverPrintsAsPerfectCosine) {
  MetricsAccumulator one_sided(ElementType::kFloat, {});
  one_sided.add(floats({1, 2}), floats({1, kNan}));
  EXPECT_TRUE(std::isnan(one_sided.metrics().distances->cosine));
  EXPECT_EQ(one_sided.metrics().distances->sqnr_db, -kInf);

  MetricsAccumulator nothing_finite(ElementType::kFloat, {});
  nothing_finite.add(floats({kNan, kInf}), floats({kNan, kInf}));
  const Distances distances = *nothing_finite.metrics().distances;
  for (double value :
       {distances.cosine, distances.max_abs, distances.mean_abs, distances.rmse, distances.relative_l2,
        distances.sqnr_db, *distances.max_ulp, distances.required_atol, distances.required_rtol}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(FailOpen, F8_EachElementIsJudgedByItsOwnReference) {
  CompareOptions options;
  options.tolerances.rtol.general = 1e-3;
  options.tolerances.atol.general = 0;
  // The mean, the maximum and the quantiles of reference and error would let the small one pass.
  EXPECT_EQ(judge(floats({1e6, 1e6, 1}), floats({1e6, 1e6, 1.01}), options).verdict, Verdict::kFail);
  EXPECT_EQ(judge(floats({1e6, 2e6, 1}), floats({1.0005e6, 2e6, 1}), options).verdict, Verdict::kPass);
}

TEST(FailOpen, F8_AnAbsoluteToleranceAloneHoldsForLargeValues) {
  CompareOptions options;
  options.tolerances.atol.general = 1;
  options.tolerances.rtol.general = 0;
  EXPECT_EQ(judge(floats({1e8, 1}), floats({1e8 + 504, 1}), options).verdict, Verdict::kFail);
  EXPECT_EQ(judge(floats({1e8, 1}), floats({1e8, 1.5}), options).verdict, Verdict::kPass);
}

TEST(FailOpen, F9_WhatIsRelativeIsRelativeToTheReference) {
  const auto relative_l2 = [](double reference, double actual) {
    MetricsAccumulator metrics(ElementType::kFloat, {});
    metrics.add(floats({reference}), floats({actual}));
    return metrics.metrics().distances->relative_l2;
  };
  EXPECT_DOUBLE_EQ(relative_l2(1, 2), 1);
  EXPECT_DOUBLE_EQ(relative_l2(2, 1), 0.5);
  const ComparisonResult result = judge(floats({1, 2}), floats({1, 2}));
  EXPECT_EQ(result.reference, "reference");
  EXPECT_EQ(result.actual, "engine");
}

TEST(FailOpen, F10_SamplesOnOneSideOnlyFail) {
  std::vector<Trace> reference, actual;
  for (size_t sample : {0, 1}) {
    reference.push_back(trace("reference", {output("y", floats({1, 2}))}, sample));
    actual.push_back(trace("engine", {output("y", floats({1, 2}))}, sample));
  }
  EXPECT_EQ(compare(reference, actual).verdict, Verdict::kPass);
  EXPECT_EQ(compare(reference, std::span(actual).first(1)).verdict, Verdict::kFail);
  EXPECT_EQ(compare(std::span(reference).first(1), actual).verdict, Verdict::kFail);
  EXPECT_EQ(compare(std::span(reference).first(1), std::span(actual).last(1)).verdict, Verdict::kFail);
  actual[1].sample = 0;
  EXPECT_EQ(compare(reference, actual).verdict, Verdict::kFail);
}

TEST(FailOpen, F15_AgreementIsCountedPerOutputAndReplacesNoValue) {
  const Tensor logits =
      Tensor::from_doubles(ElementType::kFloat, {1, 8}, std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1});
  const Tensor doubled =
      Tensor::from_doubles(ElementType::kFloat, {1, 8}, std::vector<double>{16, 14, 12, 10, 8, 6, 4, 2});
  const Tensor reversed =
      Tensor::from_doubles(ElementType::kFloat, {1, 8}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor boxes = Tensor::from_doubles(ElementType::kFloat, {2, 1}, std::vector<double>{1, 2});
  const ComparisonResult result =
      compare(trace("reference", {output("a", logits), output("b", logits), output("c", boxes)}),
              trace("engine", {output("a", doubled), output("b", reversed), output("c", boxes)}));
  // The order of `a` is right, and yet its values are compared.
  EXPECT_EQ(result.tensors[0].metrics.top_k_agreement, 1.0);
  EXPECT_EQ(result.tensors[0].metrics.argmax_agreement, 1.0);
  EXPECT_EQ(result.tensors[0].verdict, Verdict::kFail);
  EXPECT_EQ(result.tensors[1].metrics.argmax_agreement, 0.0);
  EXPECT_EQ(result.tensors[1].metrics.top_k_agreement, 0.4);
  EXPECT_EQ(result.tensors[2].metrics.argmax_agreement, std::nullopt);
  EXPECT_EQ(result.tensors[2].verdict, Verdict::kPass);
}

}  // namespace
}  // namespace vernier
