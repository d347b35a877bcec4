#include "vernier/reduce/anonymise.h"

#include <algorithm>
#include <cmath>

#include "fake_oracle.h"
#include "vernier/reduce/reduce.h"

namespace vernier {
namespace {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += (value - mean_of(values)) * (value - mean_of(values));
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Anonymise, RandomContentHasTheStatisticsOfEachChannel) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(5 + std::sin(i));
  for (int i = 0; i < 1000; ++i) values.push_back(i % 4 == 0 ? 0 : -0.1 * (i % 7));
  const Tensor tensor = Tensor::from_doubles(ElementType::kFloat, {2, 1000}, values);
  const Tensor other = of_same_statistics(tensor, 7);
  EXPECT_FALSE(other.identical(tensor));
  EXPECT_TRUE(other.identical(of_same_statistics(tensor, 7)));
  const auto made = other.to_doubles();
  for (const size_t channel : {size_t{0}, size_t{1}}) {
    const auto was = std::span<const double>(values).subspan(channel * 1000, 1000);
    const auto is = std::span<const double>(made).subspan(channel * 1000, 1000);
    EXPECT_NEAR(mean_of(is), mean_of(was), 0.1) << channel;
    EXPECT_NEAR(deviation_of(is), deviation_of(was), 0.12) << channel;
    EXPECT_NEAR(*std::max_element(is.begin(), is.end()), *std::max_element(was.begin(), was.end()), 1e-6);
    EXPECT_NEAR(*std::min_element(is.begin(), is.end()), *std::min_element(was.begin(), was.end()), 1e-6);
    EXPECT_NEAR(std::count(is.begin(), is.end(), 0.0), std::count(was.begin(), was.end(), 0.0), 60);
  }
}

TEST(Anonymise, IntegersStayIntegersAndNaNStaysWhereItIs) {
  const Tensor codes = of_same_statistics(Tensor::from<int8_t>(ElementType::kInt8, {4}, {-3, 0, 9, 100}), 1);
  EXPECT_EQ(codes.type(), ElementType::kInt8);
  const Tensor floats =
      of_same_statistics(Tensor::from_doubles(ElementType::kFloat, {3}, std::vector<double>{1, NAN, 2}), 1);
  EXPECT_TRUE(std::isnan(floats.to_doubles()[1]));
}

ReproCase secret() {
  ReproCase whole =
      parsed_case(R"(graph "secret_graph" (%secret_x: f32[8, 4], %secret_w: f32[4, 4]) -> (%secret_y) {
    %secret_y: f32[*] = MatMul(%secret_x, %secret_w) version 13 @"secret_node" from ["secret_node"]
  })",
                  {{"secret_x", drawn({8, 4})}, {"secret_w", drawn({4, 4}, 2)}});
  whole.model.doc = "secret doc";
  whole.model.metadata = {{"owner", "secret"}};
  return whole;
}

TEST(Anonymise, NothingOfTheModelIsLeft) {
  FakeOracle oracle([](const ReproCase& each) { return count_of(each, "MatMul") == 1; });
  ReduceOptions options;
  options.anonymise = true;
  const ReproCase whole = secret();
  const Reduction reduction = reduce(whole, oracle.judge(whole), oracle, options);
  ASSERT_TRUE(reduction.anonymisation);
  EXPECT_TRUE(reduction.anonymisation->names);
  EXPECT_EQ(reduction.anonymisation->tensors, 2U);
  EXPECT_TRUE(reduction.anonymisation->kept.empty());
  EXPECT_EQ(print(reduction.result.model).find("secret"), std::string::npos);
  for (const auto& [name, datum] : reduction.result.inputs)
    EXPECT_EQ(name.find("secret"), std::string::npos) << name;
}

TEST(Anonymise, WhatCannotBeReplacedIsSaid) {
  const ReproCase whole = secret();
  const Tensor needed = whole.inputs.at("secret_w").tensor;
  FakeOracle oracle([&](const ReproCase& each) {
    const auto found = each.inputs.find("secret_w");
    return found != each.inputs.end() && found->second.tensor.identical(needed);
  });
  ReduceOptions options;
  options.anonymise = true;
  const Reduction reduction = reduce(whole, oracle.judge(whole), oracle, options);
  EXPECT_FALSE(reduction.anonymisation->names);
  EXPECT_EQ(reduction.anonymisation->tensors, 1U);
  EXPECT_EQ(reduction.anonymisation->kept.size(), 2U);
  EXPECT_TRUE(reduction.result.inputs.at("secret_w").tensor.identical(needed));
}

}  // namespace
}  // namespace vernier
