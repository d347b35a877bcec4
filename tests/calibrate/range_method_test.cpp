// Which range each method chooses, and what it loses.
#include "vernier/calibrate/range_method.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "vernier/calibrate/range_loss.h"

namespace vernier {
namespace {

RangeHistogram of(const std::vector<float>& values) {
  RangeHistogram histogram;
  EXPECT_TRUE(histogram.add(values));
  return histogram;
}

std::vector<float> normal(size_t count, bool rectified = false) {
  std::mt19937 generator(5);
  std::normal_distribution<float> draw(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = rectified ? std::max(draw(generator), 0.0F) : draw(generator);
  return values;
}

RangeChoice by(RangeMethod method) {
  RangeChoice choice;
  choice.method = method;
  return choice;
}

// Quantizes and dequantizes a value by an entry.
double quantized(double value, const ScaleEntry& entry) {
  const double code = std::nearbyint(value / entry.scale) + static_cast<double>(entry.zero_point);
  const auto low = static_cast<double>(integer_min(entry.type)),
             high = static_cast<double>(integer_max(entry.type));
  return (std::clamp(code, low, high) - static_cast<double>(entry.zero_point)) * entry.scale;
}

double error_of(const std::vector<float>& values, const ScaleEntry& entry) {
  double sum = 0;
  for (const float value : values) sum += std::pow(static_cast<double>(value) - quantized(value, entry), 2);
  return sum;
}

TEST(RangeMethod, MinMaxHoldsWhatOccurred) {
  const auto entry = choose_range(of({-2, 1, 0.5}), by(RangeMethod::kMinMax));
  EXPECT_EQ(entry.type, ElementType::kInt8);
  EXPECT_DOUBLE_EQ(entry.scale, 2.0 / 127);
  const auto rectified = choose_range(of({0, 1, 0.5}), by(RangeMethod::kMinMax));
  EXPECT_EQ(rectified.type, ElementType::kUint8);
  EXPECT_DOUBLE_EQ(rectified.scale, 1.0 / 255);
  EXPECT_EQ(rectified.zero_point, 0);
  RangeChoice asymmetric = by(RangeMethod::kMinMax);
  asymmetric.asymmetric = true;
  const auto shifted = choose_range(of({-1, 3}), asymmetric);
  EXPECT_EQ(shifted.type, ElementType::kUint8);
  EXPECT_DOUBLE_EQ(shifted.scale, 4.0 / 255);
  EXPECT_EQ(shifted.zero_point, 64);
  RangeChoice narrow = by(RangeMethod::kMinMax);
  narrow.float8 = true;
  EXPECT_DOUBLE_EQ(choose_range(of({-896, 3}), narrow).scale, 2);
}

TEST(RangeMethod, ZeroAloneHasAScale) {
  for (const auto method :
       {RangeMethod::kMinMax, RangeMethod::kEntropy, RangeMethod::kPercentile, RangeMethod::kMse})
    EXPECT_EQ(choose_range(of({0, 0, 0}), by(method)).scale, 1) << range_method_name(method);
}

TEST(RangeMethod, PercentileLeavesOutAShare) {
  std::vector<float> values(10'000, 1);
  values[0] = 100;
  RangeChoice choice = by(RangeMethod::kPercentile);
  EXPECT_NEAR(choose_range(of(values), choice).scale * 255, 1, 0.05);
  choice.percentile = 100;
  EXPECT_DOUBLE_EQ(choose_range(of(values), choice).scale * 255, 100);
  // Rare values that are all there is are kept.
  std::vector<float> rare(100'000, 0);
  rare[7] = 9;
  choice.percentile = 99.99;
  EXPECT_DOUBLE_EQ(choose_range(of(rare), choice).scale * 255, 9);
}

TEST(RangeMethod, SquareErrorIsThatOfQuantizing) {
  const auto values = normal(20'000);
  const auto histogram = of(values);
  for (const double bound : {1.0, 2.0, 4.0}) {
    const ScaleEntry entry = scale_of_range(-bound, bound);
    const double error = error_of(values, entry);
    EXPECT_NEAR(square_error(histogram.bins(), entry), error, 0.02 * error) << bound;
  }
  const ScaleEntry shifted = asymmetric_scale_of_range(-1, 3);
  EXPECT_NEAR(square_error(histogram.bins(), shifted), error_of(values, shifted),
              0.02 * error_of(values, shifted));
}

TEST(RangeMethod, MseFindsTheLeastError) {
  auto values = normal(50'000);
  values.push_back(40);
  for (const bool asymmetric : {false, true}) {
    RangeChoice choice = by(RangeMethod::kMse);
    choice.asymmetric = asymmetric;
    const double found = error_of(values, choose_range(of(values), choice));
    for (double bound = 0.5; bound < 45; bound *= 1.05)
      EXPECT_LE(found, 1.02 * error_of(values, scale_of_range(-bound, bound))) << bound;
  }
}

TEST(RangeMethod, EntropyClipsOutliersAndKeepsWhatMatters) {
  auto values = normal(200'000);
  const double plain = choose_range(of(values), by(RangeMethod::kEntropy)).scale * 127;
  EXPECT_GT(plain, 2);
  EXPECT_LE(plain, 5);
  values.push_back(50);
  const double with_outlier = choose_range(of(values), by(RangeMethod::kEntropy)).scale * 127;
  EXPECT_LT(with_outlier, 8);
  // A rectified value uses its codes for numbers that are not negative.
  const auto rectified = choose_range(of(normal(200'000, true)), by(RangeMethod::kEntropy));
  EXPECT_EQ(rectified.type, ElementType::kUint8);
  EXPECT_GT(rectified.scale * 255, 2);
  // Evenly spread values are all of the same weight.
  std::vector<float> even;
  for (int i = -50'000; i <= 50'000; ++i) even.push_back(static_cast<float>(i) / 50'000);
  EXPECT_GT(choose_range(of(even), by(RangeMethod::kEntropy)).scale * 127, 0.98);
}

TEST(RangeMethod, DivergenceIsWhatCodesDoNotTell) {
  // Two values in each code, one of them three times as frequent: known by hand.
  const Bins bins = {{0, 1, 3}, {1, 2, 1}};
  const ScaleEntry one_code{ElementType::kUint8, 4, 0};  // both are nearest to 0
  EXPECT_NEAR(code_divergence(bins, one_code), 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-12);
  // A code ends where the one bin does and the other begins.
  const ScaleEntry codes_of_their_own{ElementType::kUint8, 2.0 / 101, 0};
  EXPECT_NEAR(code_divergence(bins, codes_of_their_own), 0, 1e-9);
  // 300 is clipped to a code that nothing else has.
  EXPECT_EQ(code_divergence({{0, 1, 3}, {300, 301, 1}}, {ElementType::kUint8, 1, 0}),
            std::numeric_limits<double>::infinity());
}

TEST(RangeMethod, Float8HasItsOwnCodes) {
  const auto codes = code_values({ElementType::kFloat8E4M3FN, 2, 0});
  EXPECT_EQ(codes.front(), -896);
  EXPECT_EQ(codes.back(), 896);
  EXPECT_EQ(codes.size(), 253u);  // two of 256 are NaN, and two are zero
  EXPECT_EQ(code_values({ElementType::kInt8, 1, 0}).size(), 256u);
  EXPECT_EQ(code_values({ElementType::kUint8, 1, 3}).front(), -3);
}

TEST(RangeMethod, NamesAreRead) {
  for (const auto method :
       {RangeMethod::kMinMax, RangeMethod::kEntropy, RangeMethod::kPercentile, RangeMethod::kMse})
    EXPECT_EQ(parse_range_method(range_method_name(method)), method);
  EXPECT_THROW(parse_range_method("kl"), Error);
}

}  // namespace
}  // namespace vernier
