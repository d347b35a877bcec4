#include "vernier/compare/metrics.h"

#include <gtest/gtest.h>

#include "traces.h"
#include "vernier/compare/distance.h"

namespace vernier {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Metrics measure(const Tensor& reference, const Tensor& actual, Tolerance tolerance = {}) {
  MetricsAccumulator accumulator(actual.type(), std::move(tolerance), 5);
  accumulator.add(reference, actual);
  return accumulator.metrics();
}

// In one pass where it can be, and by all metrics where NaN, Inf or sums beyond double need these.
TEST(Metrics, RelativeL2AloneIsThatOfAllDistances) {
  std::vector<double> many, others;
  for (int i = 0; i < 200000; ++i) {
    many.push_back(std::sin(i));
    others.push_back(std::sin(i) + 1e-4 * std::cos(3.0 * i));
  }
  const auto doubles = [](const std::vector<double>& values) {
    return Tensor::from_doubles(ElementType::kDouble, {static_cast<int64_t>(values.size())}, values);
  };
  const std::pair<Tensor, Tensor> pairs[] = {
      {doubles(many), doubles(others)},
      {doubles({3, 4}), doubles({3, 4})},
      {doubles({0, 0}), doubles({0, 0})},
      {doubles({0, 0}), doubles({0, 1})},
      {doubles({1e200, 1}), doubles({1.1e200, 1})},
      {doubles({1e-200, 0}), doubles({1.1e-200, 0})},
      {doubles({1, kNan}), doubles({1, kNan})},
      {doubles({1, 2}), doubles({1, kNan})},
      {doubles({kInf, 2}), doubles({kInf, 2.5})},
      {doubles({kInf, 2}), doubles({-kInf, 2})},
  };
  for (const auto& [reference, actual] : pairs) {
    const double expected = distances_of(reference, actual).relative_l2;
    const double found = relative_l2_of(reference, actual);
    SCOPED_TRACE(expected);
    if (std::isfinite(expected))
      EXPECT_NEAR(found, expected, 1e-12 * expected);
    else
      EXPECT_EQ(std::isnan(found), std::isnan(expected));
  }
  EXPECT_NEAR(relative_l2_of(doubles(many), doubles(others)), 1e-4, 1e-6);
}

TEST(Metrics, AreWhatTheirNamesSay) {
  const Metrics metrics = measure(floats({3, 4, 0}), floats({3, 4, 1}));
  const Distances& distances = *metrics.distances;
  EXPECT_EQ(metrics.elements, 3);
  EXPECT_EQ(metrics.mismatching, 1);
  EXPECT_DOUBLE_EQ(distances.max_abs, 1);
  EXPECT_DOUBLE_EQ(distances.mean_abs, 1.0 / 3);
  EXPECT_DOUBLE_EQ(distances.rmse, std::sqrt(1.0 / 3));
  EXPECT_DOUBLE_EQ(distances.relative_l2, 0.2);
  EXPECT_DOUBLE_EQ(distances.cosine, 25 / (5 * std::sqrt(26.0)));
  EXPECT_DOUBLE_EQ(distances.sqnr_db, 10 * std::log10(25.0));
  EXPECT_EQ(metrics.histogram->exact, 2);
  EXPECT_EQ(metrics.histogram->decades[-ErrorHistogram::kFirstDecade], 1);
}

TEST(Metrics, OfEqualTensorsAreThoseOfEqualTensors) {
  const Distances distances = *measure(floats({1, -2}), floats({1, -2})).distances;
  EXPECT_EQ(distances.max_abs, 0);
  EXPECT_EQ(distances.relative_l2, 0);
  EXPECT_DOUBLE_EQ(distances.cosine, 1);
  EXPECT_EQ(distances.sqnr_db, kInf);
  EXPECT_EQ(distances.required_atol, 0);
}

TEST(Metrics, OfZeroVectorsAreDefined) {
  const Distances both = *measure(floats({0, 0}), floats({0, -0.0})).distances;
  EXPECT_EQ(both.cosine, 1);
  EXPECT_EQ(both.relative_l2, 0);
  EXPECT_TRUE(std::isnan(both.sqnr_db));
  const Distances one = *measure(floats({0, 0}), floats({0, 1})).distances;
  EXPECT_EQ(one.cosine, 0);
  EXPECT_EQ(one.relative_l2, kInf);
  EXPECT_EQ(one.sqnr_db, -kInf);
}

TEST(Metrics, InfsMatchByPositionAndSign) {
  EXPECT_EQ(measure(floats({1, kInf, -kInf}), floats({1, kInf, -kInf})).mismatching, 0);
  EXPECT_EQ(measure(floats({1, kInf}), floats({1, -kInf})).inf_mismatches, 1);
  EXPECT_EQ(measure(floats({1, kInf}), floats({1, 3e38})).inf_mismatches, 1);
  EXPECT_EQ(measure(floats({1, 2}), floats({1, kInf})).inf_mismatches, 1);
  EXPECT_EQ(measure(floats({1, kInf}), floats({1, kNan})).nan_mismatches, 1);
}

TEST(Metrics, UlpsAreThoseOfTheDeclaredType) {
  const auto max_ulp = [](ElementType type, double reference, double actual) {
    MetricsAccumulator accumulator(type, {});
    accumulator.add(floats({reference}, ElementType::kDouble), floats({actual}, type));
    return *accumulator.metrics().distances->max_ulp;
  };
  EXPECT_EQ(max_ulp(ElementType::kFloat, 1, 1 + 0x1p-23), 1);
  EXPECT_EQ(max_ulp(ElementType::kFloat16, 1, 1 + 0x1p-9), 2);
  EXPECT_EQ(max_ulp(ElementType::kFloat16, 1000.25, 1000), 0.5);
  EXPECT_EQ(max_ulp(ElementType::kBFloat16, 1, 1 + 0x1p-7), 1);
  EXPECT_EQ(max_ulp(ElementType::kFloat8E4M3FN, 2, 2.5), 2);
  EXPECT_EQ(max_ulp(ElementType::kFloat8E5M2, 4, 5), 1);
  EXPECT_EQ(max_ulp(ElementType::kFloat, 0, 0x1p-149), 1);
  EXPECT_EQ(max_ulp(ElementType::kDouble, 1, 1 + 0x1p-52), 1);
  EXPECT_EQ(measure(Tensor::from<int32_t>(ElementType::kInt32, {1}, {1}),
                    Tensor::from<int32_t>(ElementType::kInt32, {1}, {2}))
                .distances->max_ulp,
            std::nullopt);
}

TEST(Metrics, LargeIntegersDifferThoughTheyAreEqualAsDouble) {
  const int64_t large = int64_t{1} << 60;
  const Metrics metrics = measure(
      Tensor::from<int64_t>(ElementType::kInt64, {2}, {large, std::numeric_limits<int64_t>::min()}),
      Tensor::from<int64_t>(ElementType::kInt64, {2}, {large + 1, std::numeric_limits<int64_t>::max()}));
  EXPECT_EQ(metrics.mismatching, 2);
  EXPECT_DOUBLE_EQ(metrics.distances->max_abs, 0x1p64);
  EXPECT_EQ(measure(Tensor::from<uint64_t>(ElementType::kUint64, {1}, {~uint64_t{0}}),
                    Tensor::from<uint64_t>(ElementType::kUint64, {1}, {~uint64_t{0} - 1}))
                .mismatching,
            1);
}

TEST(Metrics, ComplexNumbersAreComparedByMagnitudeOfTheDifference) {
  using Complex = std::complex<float>;
  const auto tensor = [](Complex value) {
    return Tensor::from<Complex>(ElementType::kComplex64, {1}, {value});
  };
  EXPECT_DOUBLE_EQ(measure(tensor({3, 4}), tensor({3, 5})).distances->max_abs, 1);
  EXPECT_DOUBLE_EQ(measure(tensor({3, 4}), tensor({4, -3})).distances->cosine, 0);
  EXPECT_EQ(measure(tensor({1, static_cast<float>(kNan)}), tensor({1, 1})).nan_mismatches, 1);
  EXPECT_EQ(
      measure(tensor({static_cast<float>(kInf), static_cast<float>(kNan)}), tensor({1, 1})).nan_mismatches,
      1);
  EXPECT_EQ(
      measure(tensor({static_cast<float>(kInf), 1}), tensor({static_cast<float>(-kInf), 1})).inf_mismatches,
      1);
  EXPECT_EQ(measure(tensor({static_cast<float>(kInf), 1}), tensor({static_cast<float>(kInf), 1})).mismatching,
            0);
}

TEST(Metrics, RequiredToleranceIsEnoughAndNotMore) {
  const std::vector<double> reference{1, -10, 0.3, 1e-3}, actual{1.013, -10.31, 0.30001, 1.7e-3};
  const Tolerance given{1e-4, 1e-3, ""};
  const Distances distances = *measure(floats(reference), floats(actual), given).distances;
  const auto mismatching = [&](double atol, double rtol) {
    return measure(floats(reference), floats(actual), {atol, rtol, ""}).mismatching;
  };
  EXPECT_EQ(mismatching(distances.required_atol, given.rtol), 0);
  EXPECT_EQ(mismatching(given.atol, distances.required_rtol), 0);
  EXPECT_GT(mismatching(distances.required_atol * (1 - 1e-9), given.rtol), 0);
  EXPECT_GT(mismatching(given.atol, distances.required_rtol * (1 - 1e-9)), 0);
  EXPECT_EQ(measure(floats({0}), floats({1})).distances->required_rtol, kInf);
}

TEST(Metrics, WhatDoubleCannotHoldIsNotPerfect) {
  const auto doubles = [](std::vector<double> values) { return floats(values, ElementType::kDouble); };
  const Distances tiny = *measure(doubles({1e-200}), doubles({2e-200})).distances;
  EXPECT_DOUBLE_EQ(tiny.max_abs, 1e-200);
  EXPECT_TRUE(std::isnan(tiny.relative_l2));
  EXPECT_TRUE(std::isnan(tiny.cosine));
  const Metrics huge = measure(doubles({1e308}), doubles({-1e308}), {0, 10, ""});
  EXPECT_EQ(huge.mismatching, 1);
  EXPECT_EQ(huge.distances->max_abs, kInf);
}

TEST(Metrics, MergedEqualThoseOfTheWhole) {
  std::vector<double> reference, actual;
  for (int i = 0; i < 200000; ++i) {
    reference.push_back(std::sin(i));
    actual.push_back(std::sin(i) + 1e-3 * std::cos(7 * i));
  }
  const Tolerance tolerance{1e-4, 1e-3, ""};
  MetricsAccumulator first(ElementType::kFloat, tolerance), second(ElementType::kFloat, tolerance);
  const auto part = [](const std::vector<double>& values, size_t begin, size_t end) {
    return floats(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                      values.begin() + static_cast<std::ptrdiff_t>(end)));
  };
  first.add(part(reference, 0, 70000), part(actual, 0, 70000), 0);
  second.add(part(reference, 70000, 200000), part(actual, 70000, 200000), 1);
  first.merge(second);
  const Metrics merged = first.metrics(), whole = measure(floats(reference), floats(actual), tolerance);
  EXPECT_EQ(merged.mismatching, whole.mismatching);
  EXPECT_EQ(merged.elements, whole.elements);
  EXPECT_EQ(merged.distances->max_abs, whole.distances->max_abs);
  EXPECT_EQ(*merged.distances->max_ulp, *whole.distances->max_ulp);
  EXPECT_NEAR(merged.distances->rmse, whole.distances->rmse, 1e-15);
  EXPECT_NEAR(merged.distances->cosine, whole.distances->cosine, 1e-12);
  EXPECT_EQ(merged.histogram->decades, whole.histogram->decades);
}

TEST(Metrics, WorstElementIsNamed) {
  MetricsAccumulator accumulator(ElementType::kFloat, {0, 0.1, ""});
  accumulator.add(floats({1, 2}), floats({1, 2}), 0);
  EXPECT_FALSE(accumulator.worst());
  accumulator.add(floats({100, 1}), floats({105, 3}), 1, "[4]");
  EXPECT_EQ(accumulator.worst()->sample, 1u);
  EXPECT_EQ(accumulator.worst()->part, "[4]");
  EXPECT_EQ(accumulator.worst()->index, Dims{1});  // 5 of 100 is within the tolerance
  EXPECT_EQ(std::get<double>(accumulator.worst()->actual), 3);
}

TEST(Metrics, AgreementNeedsRowsThatAgree) {
  const auto rows = [](std::vector<double> values) {
    return Tensor::from_doubles(ElementType::kFloat, {2, 3}, values);
  };
  const Tensor reference = rows({1, 2, 3, 3, 2, 1});
  EXPECT_EQ(measure(reference, reference).argmax_agreement, 1.0);
  EXPECT_EQ(measure(reference, rows({1, 2, 3, 1, 2, 3})).argmax_agreement, 0.5);
  EXPECT_EQ(measure(reference, rows({1, 2, 3, kNan, kNan, kNan})).argmax_agreement, 0.5);
  EXPECT_EQ(measure(reference, reference).top_k_agreement, std::nullopt);  // 5 of 3 places would say nothing
}

TEST(Metrics, TensorsThatDoNotPairAreRefused) {
  MetricsAccumulator accumulator(ElementType::kFloat, {});
  EXPECT_THROW(accumulator.add(floats({1}), floats({1, 2})), Error);
  EXPECT_THROW(accumulator.add(floats({1}), Tensor()), Error);
  EXPECT_THROW(accumulator.add(floats({1}), Tensor::from<std::string>(ElementType::kString, {1}, {"1"})),
               Error);
}

}  // namespace
}  // namespace vernier
