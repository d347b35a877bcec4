#include "vernier/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces.h"

namespace vernier {
namespace {

using testing::HasSubstr;

TEST(Verdict, CombinesToTheWorst) {
  EXPECT_EQ(worst(Verdict::kPass, Verdict::kMistrusted), Verdict::kMistrusted);
  EXPECT_EQ(worst(Verdict::kFail, Verdict::kNotCompared), Verdict::kFail);
  EXPECT_EQ(worst(Verdict::kPass, Verdict::kPass), Verdict::kPass);
  EXPECT_EQ(verdict_name(Verdict::kNotCompared), "not_compared");
}

TEST(Compare, TypesRanksAndSizesMustAgree) {
  const auto verdict = [](const Tensor& actual) { return judge(floats({1, 2}), actual).verdict; };
  EXPECT_EQ(verdict(floats({1, 2})), Verdict::kPass);
  EXPECT_EQ(verdict(floats({1, 2}, ElementType::kDouble)), Verdict::kFail);
  EXPECT_EQ(verdict(Tensor::from<int32_t>(ElementType::kInt32, {2}, {1, 2})), Verdict::kFail);
  EXPECT_EQ(verdict(floats({1, 2}).reshaped({1, 2})), Verdict::kFail);
  EXPECT_EQ(verdict(floats({1, 2, 3})), Verdict::kFail);
  EXPECT_EQ(verdict(Tensor()), Verdict::kFail);
}

TEST(Compare, TheReferenceMayHoldDoubleButNotTheEngine) {
  TraceEntry ideal = output("y", floats({1, 2}, ElementType::kDouble));
  ideal.declared = ElementType::kFloat;
  TraceEntry engine = output("y", floats({1, 2}));
  EXPECT_EQ(compare(trace("ideal", {ideal}), trace("engine", {engine})).verdict, Verdict::kPass);
  const ComparisonResult result = compare(trace("declared", {engine}), trace("ideal", {ideal}));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_THAT(all_reasons(result), HasSubstr("type mismatch"));
  CompareOptions options;
  options.actual_may_hold_double = true;
  EXPECT_EQ(compare(trace("declared", {engine}), trace("ideal", {ideal}), options).verdict, Verdict::kPass);
}

TEST(Compare, AnUnroundedReferenceOfAnIntegerAllowsItsRounding) {
  TraceEntry ideal = output("y", floats({1.4, 7.5}, ElementType::kDouble));
  ideal.declared = ElementType::kInt8;
  const auto verdict = [&](int8_t second) {
    return compare(trace("ideal", {ideal}),
                   trace("engine", {output("y", Tensor::from<int8_t>(ElementType::kInt8, {2}, {1, second}))}))
        .verdict;
  };
  EXPECT_EQ(verdict(7), Verdict::kPass);
  EXPECT_EQ(verdict(8), Verdict::kPass);
  EXPECT_EQ(verdict(9), Verdict::kFail);
}

TEST(Compare, SequencesAreComparedElementByElement) {
  const auto sequence = [](std::vector<Datum> elements) { return Datum::of_sequence(std::move(elements)); };
  const Datum reference = sequence({Datum(floats({1, 2})), Datum(floats({3}))});
  EXPECT_EQ(judge(reference, sequence({Datum(floats({1, 2})), Datum(floats({3}))})).verdict, Verdict::kPass);
  const ComparisonResult wrong = judge(reference, sequence({Datum(floats({1, 2})), Datum(floats({4}))}));
  EXPECT_EQ(wrong.verdict, Verdict::kFail);
  EXPECT_EQ(wrong.tensors[0].worst->part, "[1]");
  EXPECT_EQ(judge(reference, sequence({Datum(floats({1, 2}))})).verdict, Verdict::kFail);
  EXPECT_EQ(judge(reference, floats({1, 2})).verdict, Verdict::kFail);
  EXPECT_EQ(judge(reference, Datum::none()).verdict, Verdict::kFail);
  EXPECT_EQ(judge(reference, sequence({Datum(floats({1, 2})), Datum::none()})).verdict, Verdict::kFail);
}

TEST(Compare, MapsMustHaveTheSameKeys) {
  const auto map_of = [](const std::vector<int64_t>& keys, const std::vector<double>& values) {
    return Datum::of_sequence(
        {Tensor::from_ints(ElementType::kInt64, {std::ssize(keys)}, keys), floats(values)});
  };
  const Datum reference = map_of({1, 2}, {0.25, 0.75});
  const auto verdict = [&](const Datum& actual) {
    TraceEntry expected = output("y", reference), got = output("y", actual);
    expected.declared = got.declared = ElementType::kFloat;
    return compare(trace("reference", {expected}), trace("engine", {got}), {}).verdict;
  };
  EXPECT_EQ(verdict(map_of({1, 2}, {0.25, 0.75})), Verdict::kPass);
  EXPECT_EQ(verdict(map_of({1, 3}, {0.25, 0.75})), Verdict::kFail);
  EXPECT_EQ(verdict(map_of({1, 2}, {0.75, 0.25})), Verdict::kFail);
  EXPECT_EQ(verdict(map_of({1}, {0.25})), Verdict::kFail);
  EXPECT_EQ(verdict(floats({0.25, 0.75})), Verdict::kFail);
}

TEST(Compare, AgreementWithoutEvidenceIsMistrusted) {
  const auto reason = [](const Tensor& reference, const Tensor& actual, CompareOptions options = {}) {
    const ComparisonResult result = judge(reference, actual, options);
    EXPECT_EQ(result.verdict, Verdict::kMistrusted);
    return all_reasons(result);
  };
  EXPECT_THAT(reason(floats({0, 0}), floats({0, 0})), HasSubstr("all zero"));
  const Tensor sevens = floats(std::vector<double>(17, 7));
  EXPECT_THAT(reason(sevens, sevens), HasSubstr("same value"));
  EXPECT_EQ(judge(floats({7, 7}), floats({7, 7})).verdict, Verdict::kPass);  // two that agree prove something
  EXPECT_THAT(reason(floats({1e-5, 3e-5}), floats({1e-5, 2e-5})), HasSubstr("all zeros would pass"));
  EXPECT_THAT(reason(floats({1, 1.0005}), floats({1, 1})),
              HasSubstr("one value for all elements would pass"));
  const auto strings = [](std::vector<std::string> values) {
    return Tensor::from<std::string>(ElementType::kString, {17}, values);
  };
  const Tensor same = strings(std::vector<std::string>(17, "a"));
  EXPECT_THAT(reason(same, same), HasSubstr("same value"));
  EXPECT_EQ(judge(floats({1e-5, 3e-5}), floats({1e-5, 3e-5})).verdict,
            Verdict::kPass);  // bit for bit is evidence
  CompareOptions options;
  options.constant_values = {"y"};
  EXPECT_EQ(judge(sevens, sevens, options).verdict, Verdict::kPass);
  EXPECT_EQ(judge(floats({7, 7}), floats({7, 8}), options).verdict, Verdict::kFail);
}

TEST(Compare, EvidenceAddsUpOverSamples) {
  Comparison comparison;
  for (size_t sample : {0, 1}) {
    const Tensor value = floats({static_cast<double>(sample)});
    comparison.add(trace("reference", {output("y", value)}, sample),
                   trace("engine", {output("y", value)}, sample));
    EXPECT_EQ(comparison.result().verdict, sample == 0 ? Verdict::kMistrusted : Verdict::kPass);
  }
}

TEST(Compare, TheWorstSampleDecides) {
  Comparison comparison;
  for (size_t sample = 0; sample < 3; ++sample) {
    comparison.add(trace("reference", {output("y", floats({1, 2}))}, sample),
                   trace("engine", {output("y", floats({1, sample == 1 ? 5.0 : 2.0}))}, sample));
  }
  const ComparisonResult result = comparison.result();
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(result.tensors[0].worst->sample, 1u);
  EXPECT_EQ(result.tensors[0].samples, 3u);
  EXPECT_EQ(result.tensors[0].failed_samples, 1u);
  EXPECT_EQ(result.tensors[0].metrics.elements, 6);
}

TEST(Compare, ASampleThatOneSideCouldNotRunFails) {
  Comparison comparison;
  comparison.add(trace("reference", {output("y", floats({1, 2}))}),
                 trace("engine", {output("y", floats({1, 2}))}));
  EXPECT_EQ(comparison.result().verdict, Verdict::kPass);
  comparison.add_failure(Comparison::Side::kActual, 1, "the process died");
  EXPECT_EQ(comparison.result().verdict, Verdict::kFail);
  EXPECT_THAT(all_reasons(comparison.result()), HasSubstr("the process died"));
}

TEST(Compare, TracesOfDifferentSamplesOrRunnersDoNotMix) {
  Comparison samples, runners;
  samples.add(trace("reference", {output("y", floats({1, 2}))}, 0),
              trace("engine", {output("y", floats({1, 2}))}, 1));
  EXPECT_EQ(samples.result().verdict, Verdict::kFail);
  for (const char* name : {"engine", "other"}) {
    runners.add(trace("reference", {output("y", floats({1, 2}))}),
                trace(name, {output("y", floats({1, 2}))}));
  }
  EXPECT_EQ(runners.result().verdict, Verdict::kFail);
}

TEST(Compare, NoiseFloorTurnsIllConditionedFailuresIntoMistrust) {
  CompareOptions options;
  options.noise_floor["y"] = {.relative_l2 = 0.02, .max_abs = 0.02};  // both are 0.1 below
  const auto verdict = [&](const Tensor& actual) { return judge(floats({1, 0}), actual, options).verdict; };
  EXPECT_EQ(verdict(floats({1, 0.1})), Verdict::kMistrusted);
  EXPECT_EQ(verdict(floats({1, 0.3})), Verdict::kFail);
  EXPECT_EQ(verdict(floats({1, NAN})), Verdict::kFail);
  EXPECT_THAT(all_reasons(judge(floats({1, 0}), floats({1, 0.1}), options)),
              HasSubstr("ill-conditioned: rounding noise moves the value by 0.02"));
  options.noise_factor = std::numeric_limits<double>::infinity();
  EXPECT_EQ(verdict(floats({1, NAN})), Verdict::kFail);
  options.noise_factor = 1;
  EXPECT_EQ(verdict(floats({1, 0.1})), Verdict::kFail);
}

TEST(Compare, NarrowTypesMoveValuesByPercentsWithoutBeingIllConditioned) {
  constexpr double kBFloat16 = 0x1p-8;
  CompareOptions options;
  const auto verdict = [&](double noise, double unit_roundoff, float difference) {
    options.noise_floor["y"] = {.relative_l2 = noise, .max_abs = noise, .unit_roundoff = unit_roundoff};
    return judge(floats({1, 0}), floats({1, difference}), options).verdict;
  };
  EXPECT_EQ(verdict(0.05, kBFloat16, 0.1F), Verdict::kPass);
  EXPECT_EQ(verdict(0.05, 0x1p-24, 0.1F), Verdict::kMistrusted);   // floats amplify to get there
  EXPECT_EQ(verdict(0.2, kBFloat16, 0.1F), Verdict::kMistrusted);  // 51 unit roundoffs
  EXPECT_EQ(verdict(0.05, kBFloat16, 0.2F), Verdict::kMistrusted);
  EXPECT_EQ(verdict(0.05, kBFloat16, 0.6F), Verdict::kFail);
}

TEST(Compare, WithinSmallNoiseIsAPassThatSaysSo) {
  CompareOptions options;
  options.noise_floor["y"] = {.relative_l2 = 0.005, .max_abs = 0.005};
  const auto result = judge(floats({1, 0}), floats({1, 0.02}), options);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_THAT(all_reasons(result), HasSubstr("within rounding noise"));
  EXPECT_EQ(judge(floats({1, 0}), floats({1, 0.06}), options).verdict, Verdict::kFail);
  // One element far off does not hide in the norm of many.
  options.noise_floor["y"].max_abs = 0.001;
  EXPECT_EQ(judge(floats({1, 0}), floats({1, 0.02}), options).verdict, Verdict::kFail);
}

TEST(Compare, DerivedBoundsExplainWhatIsWithinThem) {
  CompareOptions options;
  options.derived_bounds["y"] = {0.03, 0.03, "bf16", "the kernels add nothing"};
  const auto within = judge(floats({1, 0}), floats({1, 0.02}), options);
  EXPECT_EQ(within.verdict, Verdict::kPass);
  EXPECT_THAT(all_reasons(within), HasSubstr("explained by bf16: needs 0.02, bound 0.03"));
  EXPECT_THAT(all_reasons(within), HasSubstr("the kernels add nothing"));
  EXPECT_EQ(judge(floats({1, 0}), floats({1, 0.04}), options).verdict, Verdict::kFail);
  EXPECT_EQ(judge(floats({1, 0}), floats({1, NAN}), options).verdict, Verdict::kFail);
  // One element far off does not hide in the norm of many.
  options.derived_bounds["y"].max_abs = 0.01;
  EXPECT_EQ(judge(floats({1, 0}), floats({1, 0.02}), options).verdict, Verdict::kFail);
}

TEST(Compare, DerivedBoundsGiveWayToTheUserAndProveNothingWhereTheyAreAll) {
  CompareOptions options;
  options.derived_bounds["y"] = {2, 2, "bf16", ""};
  const auto everything = judge(floats({1, 0}), floats({1, 0.02}), options);
  EXPECT_EQ(everything.verdict, Verdict::kMistrusted);
  EXPECT_THAT(all_reasons(everything), HasSubstr("ill-conditioned"));
  options.derived_bounds["y"] = {0.1, 0.1, "bf16", ""};
  options.tolerances.atol.parse("1e-9");
  EXPECT_EQ(judge(floats({1, 0}), floats({1, 0.02}), options).verdict, Verdict::kFail);
}

TEST(Compare, WhatExceedsItsBoundFailsThoughTheTypeAcceptsIt) {
  CompareOptions options;
  options.exceeded_bounds["y"] = {1e-6, 1e-6, "f32", ""};
  const auto exceeds = judge(floats({1, 0}), floats({1.0005, 0}), options);
  EXPECT_EQ(exceeds.verdict, Verdict::kFail);
  EXPECT_THAT(all_reasons(exceeds),
              HasSubstr("not explainable by f32: needs 0.0005, 500 times the bound of 1e-06"));
  options.tolerances.rtol.parse("1e-3");
  EXPECT_EQ(judge(floats({1, 0}), floats({1.0005, 0}), options).verdict, Verdict::kPass);
}

TEST(Compare, ATypoInANamedToleranceFails) {
  CompareOptions options;
  options.tolerances.atol.parse("yy:1e-3");
  EXPECT_EQ(judge(floats({1, 2}), floats({1, 2}), options).verdict, Verdict::kFail);
}

TEST(Compare, RandomDataIsSaid) {
  CompareOptions options;
  EXPECT_FALSE(judge(floats({1, 2}), floats({1, 2}), options).random_data);
  options.random_data = true;
  EXPECT_TRUE(judge(floats({1, 2}), floats({1, 2}), options).random_data);
}

class InnerValues : public testing::Test {
 protected:
  ComparisonResult run() const { return compare(trace("reference", reference), trace("engine", actual)); }

  std::vector<TraceEntry> reference{inner("a", floats({1, 2}), {"Conv_0"}),
                                    inner("b", floats({3, 4}), {"Relu_1"}), output("y", floats({5, 6}))};
  std::vector<TraceEntry> actual = reference;
};

TEST_F(InnerValues, FirstDifferenceFollowsExecution) {
  EXPECT_EQ(run().verdict, Verdict::kPass);
  EXPECT_EQ(run().first_difference, std::nullopt);
  actual = {output("y", floats({9, 9})), inner("b", floats({9, 4}), {"Relu_1", "Mul_2"}),
            inner("a", floats({1, 2}), {"Conv_0"})};
  const ComparisonResult result = run();
  EXPECT_EQ(result.verdict, Verdict::kFail);
  ASSERT_EQ(result.first_difference, 1u);
  EXPECT_EQ(result.tensors[1].value, "b");
  EXPECT_THAT(result.tensors[1].nodes, testing::ElementsAre("Relu_1", "Mul_2"));
}

TEST_F(InnerValues, AFailingInnerValueFails) {
  actual[0].datum = floats({1, 99});
  EXPECT_EQ(run().verdict, Verdict::kFail);
}

TEST_F(InnerValues, WhatTheEngineDoesNotHoldIsNotCompared) {
  actual.erase(actual.begin(), actual.begin() + 2);
  const ComparisonResult result = run();
  EXPECT_EQ(result.verdict, Verdict::kPass);  // the outputs carry it
  EXPECT_EQ(result.tensors[0].verdict, Verdict::kNotCompared);
  EXPECT_EQ(result.tensors[1].verdict, Verdict::kNotCompared);
  EXPECT_THAT(all_reasons(result), HasSubstr("the actual run does not show it"));
}

TEST_F(InnerValues, MayBeNarrowerThanTheModelSays) {
  actual[0].datum = floats({1, 2}, ElementType::kBFloat16);
  EXPECT_EQ(run().verdict, Verdict::kPass);
  EXPECT_EQ(run().tensors[0].tolerance.source, "default for bf16");
  actual[0].datum = floats({1, 3}, ElementType::kBFloat16);
  EXPECT_EQ(run().verdict, Verdict::kFail);
  actual = reference;
  actual[2].datum = floats({5, 6}, ElementType::kBFloat16);  // an output may not
  EXPECT_EQ(run().verdict, Verdict::kFail);
}

TEST_F(InnerValues, WithoutOutputsProveNothing) {
  reference.pop_back();
  actual.pop_back();
  EXPECT_EQ(run().verdict, Verdict::kNotCompared);
}

}  // namespace
}  // namespace vernier
