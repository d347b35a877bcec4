// The model of rounding errors against exact arithmetic: partial sums are added up in float, with the
// factors rounded or split as kernels do, and compared with the same sums in double, which is exact for them.
#include "vernier/error_analysis/rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "vernier/base/error.h"
#include "vernier/numeric/minifloat.h"

namespace vernier {
namespace {

double rounded(ElementType type, double value) {
  switch (type) {
    case ElementType::kFloat: return static_cast<double>(static_cast<float>(value));
    case ElementType::kFloat16: return static_cast<double>(static_cast<Float16>(value));
    default: return static_cast<double>(static_cast<BFloat16>(value));
  }
}

NumericsContract in_float() {
  return {.computed = ElementType::kFloat,
          .accumulated = ElementType::kFloat,
          .stored = ElementType::kFloat,
          .order = NumericsContract::Order::kSequential};
}

// Root mean square and largest of the errors, in units of the expected error.
struct Found {
  double mean = 0, largest = 0;
};

constexpr int kSums = 1500;

// Draws factors, normal or all positive, that float holds.
struct Drawn {
  std::vector<double> x, w;
};
Drawn draw(int terms, bool positive, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Drawn drawn;
  for (int i = 0; i < terms; ++i) {
    for (auto* to : {&drawn.x, &drawn.w}) {
      const double value = rounded(ElementType::kFloat, normal(random));
      to->push_back(positive ? std::abs(value) : value);
    }
  }
  return drawn;
}

// `compute` gives the sum as a kernel of this contract would.
template <class Compute>
Found errors_of_sums(const NumericsContract& contract, int terms, bool positive, const Compute& compute,
                     int sums = kSums) {
  Found found;
  for (int i = 0; i < sums; ++i) {
    const Drawn drawn = draw(terms, positive, static_cast<uint64_t>(i) + 1);
    double exact = 0, squares = 0;
    for (int k = 0; k < terms; ++k) {
      const double product = drawn.x[k] * drawn.w[k];
      exact += product;
      squares += product * product;
    }
    const double lost = operand_bias(contract) * exact;
    const double variance = operand_variance(contract) * squares + lost * lost +
                            Accumulation(contract, static_cast<double>(terms)).variance(squares, 0, exact);
    const double error = std::abs(compute(drawn) - exact) / std::sqrt(variance);
    found.mean += error * error / sums;
    found.largest = std::max(found.largest, error);
  }
  found.mean = std::sqrt(found.mean);
  return found;
}

void expect_described(const Found& found, const std::string& what) {
  SCOPED_TRACE(what);
  // As large as said, not ten times smaller; and no sum is taken for a defect.
  EXPECT_LE(found.mean, 1.1);
  EXPECT_GE(found.mean, 0.3);
  EXPECT_LE(found.largest, kLargestDeviation);
}

double sequential(const Drawn& drawn) {
  float sum = 0;
  for (size_t i = 0; i < drawn.x.size(); ++i)
    sum = static_cast<float>(std::fma(drawn.x[i], drawn.w[i], static_cast<double>(sum)));
  return sum;
}

TEST(Rounding, OneRoundingIsUniformWithinHalfAUnit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1000, 1000);
  for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}) {
    double mean = 0, largest = 0;
    for (int i = 0; i < 20000; ++i) {
      const double value = uniform(random);
      const double error = std::abs(rounded(type, value) - value) / rounding_error(type, value);
      mean += error * error / 20000;
      largest = std::max(largest, error);
    }
    EXPECT_NEAR(std::sqrt(mean), 1, 0.03);
    EXPECT_LE(largest, std::sqrt(3) * 1.0001);
  }
  EXPECT_EQ(rounding_error(ElementType::kInt32, 3), 0);
  EXPECT_EQ(rounding_error(ElementType::kFloat, HUGE_VAL), 0);
  // Below the normal numbers the unit no longer shrinks.
  EXPECT_EQ(rounding_error(ElementType::kFloat16, 1e-7), rounding_error(ElementType::kFloat16, 1e-9));
  EXPECT_EQ(rounding_error(ElementType::kDouble, 0), rounding_error(ElementType::kDouble, 1e-310));
  EXPECT_EQ(rounding_error(ElementType::kFloat, 1), 2 * rounding_error(ElementType::kFloat, 0.999));
  EXPECT_GT(rounding_error(ElementType::kDouble, 1e-300), 0);
}

TEST(Rounding, SubnormalNumbersOfBFloat16MayBecomeZero) {
  EXPECT_EQ(rounding_error(ElementType::kBFloat16, -1e-39), 1e-39);
  EXPECT_LT(rounding_error(ElementType::kBFloat16, 0x1p-126), 0x1p-133);
  EXPECT_LT(rounding_error(ElementType::kFloat, 1e-39), 1e-44);
  EXPECT_LT(rounding_error(ElementType::kFloat16, 1e-6), 1e-7);
}

TEST(Rounding, SumsInFloat) {
  for (const int terms : {9, 64, 576, 4096}) {
    expect_described(errors_of_sums(in_float(), terms, false, sequential), fmt::format("{} terms", terms));
    expect_described(errors_of_sums(in_float(), terms, true, sequential), fmt::format("{} positive", terms));
  }
}

// As the columns of real weights may: the largest products come first, and the partial sums go far out and
// back.
TEST(Rounding, SumsThatGoFarOutAreNoDefects) {
  const auto far_out = [](const Drawn& drawn) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < drawn.x.size(); ++i) order.emplace_back(-drawn.x[i] * drawn.w[i], i);
    std::sort(order.begin(), order.end());
    Drawn sorted;
    for (const auto& [product, i] : order) {
      sorted.x.push_back(drawn.x[i]);
      sorted.w.push_back(drawn.w[i]);
    }
    return sequential(sorted);
  };
  for (const int terms : {9, 16, 32}) {
    EXPECT_LE(errors_of_sums(in_float(), terms, false, far_out, 100000).largest, kLargestDeviation) << terms;
  }
}

TEST(Rounding, PairwiseSumsAreMoreExact) {
  NumericsContract contract = in_float();
  contract.order = NumericsContract::Order::kPairwise;
  const auto pairwise = [](const Drawn& drawn) {
    std::vector<float> sums(drawn.x.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(drawn.x[i] * drawn.w[i]);
    for (; sums.size() > 1; sums.resize((sums.size() + 1) / 2)) {
      for (size_t i = 0; i < sums.size() / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
      if (sums.size() % 2 == 1) sums[sums.size() / 2] = sums.back();
    }
    return static_cast<double>(sums[0]);
  };
  for (const int terms : {64, 1024}) {
    expect_described(errors_of_sums(contract, terms, false, pairwise), fmt::format("{} terms", terms));
    // The bound tells the orders apart: sums one after the other are beyond what pairs would give.
    EXPECT_GT(errors_of_sums(contract, terms, true, sequential).mean, 1.2);
  }
}

TEST(Rounding, FactorsRoundedToBFloat16) {
  NumericsContract contract = in_float();
  contract.operands = ElementType::kBFloat16;
  const auto rounded_factors = [](const Drawn& drawn) {
    Drawn narrow = drawn;
    for (auto* values : {&narrow.x, &narrow.w}) {
      for (double& value : *values) value = rounded(ElementType::kBFloat16, value);
    }
    return sequential(narrow);
  };
  for (const int terms : {9, 576})
    expect_described(errors_of_sums(contract, terms, false, rounded_factors), fmt::format("{} terms", terms));
  EXPECT_GT(errors_of_sums(in_float(), 64, false, rounded_factors).mean, 100);  // undeclared, it is a defect
}

// The factors without the bits that TF32 does not have.
Drawn truncated_to_tf32(const Drawn& drawn) {
  constexpr uint32_t kKept = 0xffffe000;
  Drawn narrow = drawn;
  for (auto* values : {&narrow.x, &narrow.w}) {
    for (double& value : *values)
      value = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & kKept);
  }
  return narrow;
}

TEST(Rounding, FactorsRoundedToTf32EitherWay) {
  NumericsContract contract = in_float();
  contract.operands = OperandFormat::tf32();
  const auto truncated = [](const Drawn& drawn) { return sequential(truncated_to_tf32(drawn)); };
  const auto to_nearest = [](const Drawn& drawn) {
    Drawn narrow = drawn;
    for (auto* values : {&narrow.x, &narrow.w}) {
      for (double& value : *values) value = OperandFormat::tf32().round(value);
    }
    return sequential(narrow);
  };
  for (const int terms : {9, 576}) {
    for (const bool positive : {false, true}) {
      expect_described(errors_of_sums(contract, terms, positive, truncated), fmt::format("{} terms", terms));
      EXPECT_LE(errors_of_sums(contract, terms, positive, to_nearest).largest, kLargestDeviation);
    }
  }
  EXPECT_GT(errors_of_sums(in_float(), 64, false, to_nearest).mean, 100);  // undeclared, it is a defect
  // Two bits fewer are another one.
  contract.operands = ElementType::kFloat16;
  EXPECT_EQ(operand_bias(contract), 0);
}

// Weights of a mean are all the same number, and so is what they lose.
TEST(Rounding, EqualFactorsLoseTheSameToTf32) {
  NumericsContract contract = in_float();
  contract.operands = OperandFormat::tf32();
  constexpr int kTerms = 576;
  for (const double factor : {1.0 / 9, 1.9999, 1.00097}) {
    Drawn equal;
    equal.x.assign(kTerms, static_cast<float>(factor));
    equal.w = equal.x;
    const Drawn narrow = truncated_to_tf32(equal);
    const double exact = kTerms * equal.x[0] * equal.x[0], error = exact - kTerms * narrow.x[0] * narrow.x[0],
                 random = std::sqrt(operand_variance(contract) * kTerms) * equal.x[0] * equal.x[0];
    EXPECT_LE(error, kLargestDeviation * std::hypot(random, operand_bias(contract) * exact)) << factor;
  }
  // Errors that were independent of each other would not allow it.
  const double dropped = 1.00097 - 1, random = std::sqrt(operand_variance(contract) / kTerms);
  EXPECT_GT(2 * dropped, kLargestDeviation * random);
}

// Factors in so many numbers of bfloat16; products are summed exactly, so that the splitting alone is seen.
double split_products(const Drawn& drawn, int terms) {
  double sum = 0;
  for (size_t i = 0; i < drawn.x.size(); ++i) {
    std::vector<double> x, w;
    double of_x = drawn.x[i], of_w = drawn.w[i];
    for (int term = 0; term < terms; ++term) {
      x.push_back(rounded(ElementType::kBFloat16, of_x));
      w.push_back(rounded(ElementType::kBFloat16, of_w));
      of_x -= x.back();
      of_w -= w.back();
    }
    for (int a = 0; a < terms; ++a) {
      for (int b = 0; a + b < terms; ++b) sum += x[a] * w[b];
    }
  }
  return sum;
}

TEST(Rounding, SplitFactors) {
  NumericsContract exact_sums{.computed = ElementType::kDouble, .accumulated = ElementType::kDouble};
  exact_sums.operands = ElementType::kBFloat16;
  exact_sums.terms = 2;
  const auto of_two = [](const Drawn& drawn) { return split_products(drawn, 2); };
  const auto found = errors_of_sums(exact_sums, 256, false, of_two);
  EXPECT_LE(found.mean, 1.1);
  EXPECT_GE(found.mean, 0.2);  // what is left of a number is often smaller than half a unit of it
  EXPECT_LE(found.largest, kLargestDeviation);
  // With one term more nothing of it is left.
  const auto of_three = [](const Drawn& drawn) { return split_products(drawn, 3); };
  EXPECT_LT(errors_of_sums(exact_sums, 256, false, of_three).mean, 0.01);
}

TEST(Rounding, IntegerSumsAreExact) {
  NumericsContract contract{.computed = ElementType::kFloat, .accumulated = ElementType::kInt32};
  EXPECT_EQ(Accumulation(contract, 1000).variance(1e6, 0, 0), 0);
  const double conversion = Accumulation(contract, 1000).variance(1e6, 0, 3e7);
  EXPECT_GT(conversion, 0);
  EXPECT_LT(std::sqrt(conversion), 3e7 * 1.5e-7);
}

TEST(Rounding, SumsOfSubnormalNumbers) {
  // Products near 1e-40, of which float holds few digits: each rounding is one of the smallest unit.
  const auto tiny = [](const Drawn& drawn) {
    float sum = 0;
    for (size_t i = 0; i < drawn.x.size(); ++i)
      sum = static_cast<float>(std::fma(drawn.x[i] * 1e-40, drawn.w[i], static_cast<double>(sum)));
    return static_cast<double>(sum) * 1e40;
  };
  const double unit = 1e40 * std::scalbn(1.0, -149), error = std::sqrt(48.0) * unit / 2;
  const double said = 1e40 * std::sqrt(Accumulation(in_float(), 48).variance(48 * 1e-80, 0, 0));
  EXPECT_GT(said, 0.4 * error);
  EXPECT_LT(said, 2 * error);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Drawn drawn = draw(48, false, seed);
    double exact = 0;
    for (size_t k = 0; k < drawn.x.size(); ++k) exact += drawn.x[k] * drawn.w[k];
    EXPECT_LE(std::abs(tiny(drawn) - exact), kLargestDeviation * said);
  }
}

TEST(Rounding, WhatAnAccumulatorStartsWithIsPartOfAllItsSums) {
  const double without = Accumulation(in_float(), 100).variance(1, 0, 0);
  EXPECT_GT(Accumulation(in_float(), 100).variance(1, 50, 0), 100 * without);
}

// F(m, 3) along one axis in float, by its transforms.
double winograd_error(int outputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const std::vector<std::vector<double>> data =
      outputs == 2
          ? std::vector<std::vector<double>>{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
          : std::vector<std::vector<double>>{{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                             {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  const std::vector<std::vector<double>> weights =
      outputs == 2 ? std::vector<std::vector<double>>{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}}
                   : std::vector<std::vector<double>>{{1. / 4, 0, 0},
                                                      {-1. / 6, -1. / 6, -1. / 6},
                                                      {-1. / 6, 1. / 6, -1. / 6},
                                                      {1. / 24, 1. / 12, 1. / 6},
                                                      {1. / 24, -1. / 12, 1. / 6},
                                                      {0, 0, 1}};
  const std::vector<std::vector<double>> back =
      outputs == 2 ? std::vector<std::vector<double>>{{1, 1, 1, 0}, {0, 1, -1, -1}}
                   : std::vector<std::vector<double>>{
                         {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
  // Products in each position are off by a float's rounding: how far is the worst output off?
  std::vector<double> d(data.size()), g(3), errors(back.size());
  for (double& each : d) each = normal(random);
  for (double& each : g) each = normal(random);
  for (size_t i = 0; i < data.size(); ++i) {
    double x = 0, w = 0;
    for (size_t k = 0; k < d.size(); ++k) x += data[i][k] * d[k];
    for (size_t k = 0; k < 3; ++k) w += weights[i][k] * g[k];
    const double off = normal(random) * x * w;
    for (size_t output = 0; output < back.size(); ++output) errors[output] += back[output][i] * off;
  }
  double most = 0;
  for (const double error : errors) most = std::max(most, error * error);
  return most / 3;  // the direct sum has three products of variance one
}

TEST(Rounding, WinogradGrowsAsItsTransformsSay) {
  EXPECT_EQ(winograd_variance_growth(0), 1);
  EXPECT_THROW(winograd_variance_growth(3), Error);
  for (const int outputs : {2, 4}) {
    double mean = 0;
    for (uint64_t seed = 1; seed <= 20000; ++seed) mean += winograd_error(outputs, seed) / 20000;
    // Two axes multiply; of the outputs of a tile the test takes the largest error, the model the mean of the
    // worst one.
    const double growth = std::sqrt(winograd_variance_growth(outputs));
    EXPECT_LT(growth, 1.1 * mean) << outputs;
    EXPECT_GT(growth, 0.6 * mean) << outputs;
  }
}

TEST(Rounding, WhatATypeHoldsIsExact) {
  for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}) {
    const RoundingError rounding(type);
    for (const double value : {0.0, 1.0, -3.0, 0.375, 1 + 0x1p-12, 0x1p-24, 0x1p-30, 1.0 / 3, 0x1p-140}) {
      const bool flushed = type == ElementType::kBFloat16 && value == 0x1p-140;
      EXPECT_EQ(rounding.is_exact(value), rounded(type, value) == value && !flushed)
          << value << " as " << element_type_name(type);
    }
    EXPECT_EQ(rounding.of(0), 0);
  }
}

}  // namespace
}  // namespace vernier
