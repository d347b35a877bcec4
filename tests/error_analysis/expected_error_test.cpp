// Expected errors of nodes against what arithmetic in float really does.
#include "vernier/error_analysis/expected_error.h"

#include <cmath>

#include "error_analysis/one_node.h"
#include "vernier/error_analysis/deviation.h"
#include "vernier/error_analysis/exact_results.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {
namespace {

OneNode product(const Tensor& x, const Tensor& w) {
  return {fmt::format(R"(model ir=8 {{
    graph "g" (%x: {}, %w: {}) -> (%y) {{
      %y: f32[*] = MatMul(%x, %w) version 13 @"y" from ["y"] }} }})",
                      ValueType::of(x.type(), to_shape(x.dims())).text(),
                      ValueType::of(w.type(), to_shape(w.dims())).text()),
          {x, w}};
}

// The product in float, one term after the other; from `skipped` on terms are left out.
Tensor computed_in_float(const Tensor& x, const Tensor& w) {
  const int64_t rows = x.dims()[0], depth = x.dims()[1], columns = w.dims()[1];
  Tensor y(kF32, {rows, columns});
  auto to = y.mutable_values<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum = std::fma(x.values<float>()[static_cast<size_t>(i * depth + k)],
                       w.values<float>()[static_cast<size_t>(k * columns + j)], sum);
      to[static_cast<size_t>(i * columns + j)] = sum;
    }
  }
  return y;
}

TEST(ExpectedError, ProductsErrAsMuchAsIsExpected) {
  const Tensor x = noise({40, 300}, 1), w = noise({300, 50}, 2);
  const ElementErrors expected = product(x, w).errors(in_float());
  const Tensor y = computed_in_float(x, w);
  EXPECT_TRUE(deviation(expected, y).is_rounding());
  double mean = 0;
  for (size_t i = 0; i < 2000; ++i) {
    const double error = (y.to_doubles()[i] - expected.value.to_doubles()[i]) / expected.at(i);
    mean += error * error / 2000;
  }
  EXPECT_GT(std::sqrt(mean), 0.4);
  EXPECT_LT(std::sqrt(mean), 1.1);
}

TEST(ExpectedError, ScalesWithWhatIsMultiplied) {
  const Tensor w = noise({64, 3}, 2);
  Tensor x = noise({2, 64}, 1);
  for (float& value : x.mutable_values<float>().subspan(64)) value *= 1000;  // the second row
  const ElementErrors expected = product(x, w).errors(in_float());
  EXPECT_GT(expected.at(3), 100 * expected.at(0));
  // A row's error is its own: what is nothing in the large row is a defect in the small one.
  Tensor y = computed_in_float(x, w);
  y.mutable_values<float>()[3] += static_cast<float>(expected.at(3));
  EXPECT_TRUE(deviation(expected, y).is_rounding());
  y.mutable_values<float>()[0] += static_cast<float>(expected.at(3));
  const Deviation found = deviation(expected, y);
  EXPECT_FALSE(found.is_rounding());
  EXPECT_EQ(found.element, 0);
  EXPECT_THAT(found.text(), testing::HasSubstr("element 0"));
}

OneNode floored(const std::vector<double>& x) {
  return {R"(model ir=8 { graph "g" (%x: f32[4]) -> (%y) {
      %y: f32[*] = Floor(%x) version 13 @"y" from ["y"] } })",
          {Tensor::from_doubles(kF32, {4}, x)}};
}

TEST(ExpectedError, StepsAreExactButAtTheirEdges) {
  const OneNode floor = floored({1.5, 2.75, -7.25, 3});
  const ElementErrors expected = floor.errors(in_float());
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(expected.at(i), 0) << i;
  const std::vector<std::vector<double>> errors{{1e-3, 1e-3, 1e-3, 1e-3}};
  const auto moved = ErrorModel(floor.node(), floor.operands, errors).outputs(in_float()).at(0);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(moved.at(i), 0) << i;
  EXPECT_GT(moved.at(3), 0.1);
}

TEST(ExpectedError, SumsOfWholeNumbersAreExactWhereTheAccumulatorHoldsThem) {
  const Tensor ones = Tensor::from_doubles(kF32, {2, 300}, std::vector<double>(600, 1));
  const Tensor sevens = Tensor::from_doubles(kF32, {300, 3}, std::vector<double>(900, 7));
  const OneNode sum = product(ones, sevens);
  const auto largest = [&](const NumericsContract& contract, bool keeps_exact) {
    ElementErrors errors = sum.errors(contract);
    if (keeps_exact) keep_exact_results(sum.node(), sum.operands, contract, errors);
    return errors.is_exact() ? 0 : *std::max_element(errors.error.begin(), errors.error.end());
  };
  NumericsContract in_half = in_float(), in_terms = in_float();
  in_half.accumulated = ElementType::kFloat16;  // which holds whole numbers to 2048
  in_terms.operands = ElementType::kBFloat16;
  EXPECT_EQ(largest(in_float(), true), 0);
  EXPECT_GT(largest(in_float(), false), 0);
  EXPECT_GT(largest(in_half, true), 0);
  EXPECT_GT(largest(in_terms, true), 0);
}

TEST(ExpectedError, ErrorsOfOperandsAreInherited) {
  // The second product of a group inherits what the first one has.
  const Model model = grouped(R"(graph "g" (%x: f32[8, 64], %w: f32[64, 64]) -> (%y) {
      %a: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
      %y: f32[*] = MatMul(%a, %w) version 13 @"y" from ["y"] })");
  const Tensor x = noise({8, 64}, 1), w = noise({64, 64}, 2);
  const Node& group = *model.graph->nodes().back();
  const ErrorModel both(group, {x, w});
  const auto whole = both.outputs(in_float()).at(0);
  const Tensor between = computed_in_float(x, w);
  const auto last = product(between, w).errors(in_float());
  EXPECT_GT(whole.at(5), 1.2 * last.at(5));
  EXPECT_TRUE(deviation(whole, computed_in_float(between, w)).is_rounding());
  NumericsContract rounds = in_float();
  rounds.rounds_between = true;
  EXPECT_GT(both.outputs(rounds).at(0).at(5), whole.at(5));
}

// A bfloat16 value lies between a product with its bias and the product that reads it: 16 numbers of nearly
// the same size, which are all rounded the same way. Kernels may begin the sums of a product with what the
// Add behind it adds: each rounding is then of its size.
TEST(ExpectedError, SumsMayBeginWithWhatIsAddedToThem) {
  constexpr size_t kRows = 64, kDepth = 16, kColumns = 32;
  const Model model = grouped(R"(graph "g" (%x: f32[64, 16], %w: f32[16, 32], %b: f32[32]) -> (%y) {
    %m: f32[*] = MatMul(%x, %w) version 13 @"m" from ["m"]
    %y: f32[*] = Add(%m, %b) version 14 @"y" from ["y"]
  })");
  const Tensor x = noise({kRows, kDepth}, 1), w = noise({kDepth, kColumns}, 2),
               b = Tensor::from_doubles(kF32, {kColumns}, std::vector<double>(kColumns, 100.25));
  const ElementErrors expected =
      ErrorModel(*model.graph->nodes().back(), {x, w, b}).outputs(in_float()).at(0);
  const auto left = x.to_doubles(), right = w.to_doubles();
  double mean = 0, largest = 0;
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t column = 0; column < kColumns; ++column) {
      float sum = 100.25F;
      double exact = 100.25;
      for (size_t k = 0; k < kDepth; ++k) {
        const double product = left[row * kDepth + k] * right[k * kColumns + column];
        sum = static_cast<float>(product + static_cast<double>(sum));
        exact += product;
      }
      const double error =
          std::abs(static_cast<double>(sum) - exact) / expected.error[row * kColumns + column];
      mean += error * error / (kRows * kColumns);
      largest = std::max(largest, error);
    }
  }
  EXPECT_LE(std::sqrt(mean), 1.1);
  EXPECT_GE(std::sqrt(mean), 0.3);
  EXPECT_LE(largest, kLargestDeviation);
}

TEST(ExpectedError, NeighboursAreRoundedAlike) {
  constexpr ElementType kBF16 = ElementType::kBFloat16;
  Model model = parse_model(R"(model ir=8 {
    graph "g" (%x: bf16[1, 16], %w: bf16[16, 16], %b: bf16[16], %v: bf16[16, 1]) -> (%y) {
      %p: bf16[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
      %a: bf16[*] = Add(%p, %b) version 14 @"a" from ["a"]
      %y: bf16[*] = MatMul(%a, %v) version 13 @"y" from ["y"] } })");
  ops::infer_types(*model.graph);
  const auto nodes = [&] {
    std::vector<Node*> all;
    for (const auto& node : model.graph->nodes()) all.push_back(node.get());
    return all;
  };
  const auto begun = nodes();
  ops::make_group(*model.graph, {begun[0], begun[1]}, "inner");
  ops::make_group(*model.graph, nodes(), "outer");
  const auto same = [&](Dims dims, double value) {
    return Tensor::from_doubles(kBF16, dims,
                                std::vector<double>(static_cast<size_t>(element_count(dims)), value));
  };
  const Tensor x = same({1, 16}, 1.0 / 1024), w = same({16, 16}, 3.0 / 16), b = same({16}, 1),
               v = same({16, 1}, 1);
  const ErrorModel group(*model.graph->nodes().back(), {x, w, b, v});
  NumericsContract contract = in_float();
  contract.stored = kBF16;
  // 1 + 3/1024 is stored as 1; of the 16 that are summed all err by the same.
  const auto at_end = group.outputs(contract).at(0);
  contract.rounds_between = true;
  const auto between = group.outputs(contract).at(0);
  EXPECT_EQ(at_end.value.to_doubles()[0], 16 + 48.0 / 1024);
  EXPECT_EQ(between.value.to_doubles()[0], 16);
  const auto yields = [&](double value) {
    return Tensor::from_doubles(kBF16, {1, 1}, std::vector<double>{value});
  };
  EXPECT_TRUE(deviation(between, yields(16)).is_rounding());
  EXPECT_FALSE(deviation(between, yields(16.5)).is_rounding());
  // One rounding of 16 numbers next to 1, and the last of all; nothing inside the first group is rounded.
  const double one = rounding_error(kBF16, 1 + 3.0 / 1024), last = rounding_error(kBF16, 16);
  EXPECT_NEAR(between.at(0), std::sqrt(16 * one * one + last * last), 0.02 * between.at(0));
}

// Winograd's sums at a position of a tile go into all outputs of the tile, whether these are large or cancel.
TEST(ExpectedError, OutputsOfWinogradShareTheErrorsOfTheLargestSums) {
  std::vector<double> one_side;
  for (int i = 0; i < 8 * 8 * 8; ++i) one_side.push_back(i % 8 < 4 ? 1 : 0.01);
  const OneNode conv(R"(model ir=8 {
    graph "g" (%x: f32[1, 8, 8, 8], %w: f32[1, 8, 3, 3]) -> (%y) {
      %y: f32[*] = Conv(%x, %w) version 11 @"y" from ["y"] } })",
                     {Tensor::from_doubles(kF32, {1, 8, 8, 8}, one_side),
                      Tensor::from_doubles(kF32, {1, 8, 3, 3}, std::vector<double>(72, 1))});
  NumericsContract direct = in_float(), winograd = in_float();
  winograd.winograd = 4;
  const auto least_and_most = [](const ElementErrors& errors) {
    return std::minmax_element(errors.error.begin(), errors.error.end());
  };
  const auto apart = conv.errors(direct), shared = conv.errors(winograd);
  EXPECT_LT(2 * *least_and_most(apart).first, *least_and_most(apart).second);
  EXPECT_LT(*least_and_most(shared).second, 1.01 * *least_and_most(shared).first);
}

// A gate that is shut lets through what its function makes far out, where formulas yield zero.
TEST(ExpectedError, GatesOfRecurrentOperatorsHaveTails) {
  const auto ones = [](Dims dims, double value) {
    const std::vector<double> values(static_cast<size_t>(element_count(dims)), value);
    return Tensor::from_doubles(kF32, std::move(dims), values);
  };
  const OneNode lstm(R"(model ir=8 {
graph "g" (%x: f32[1, 1, 1], %w: f32[1, 4, 1], %r: f32[1, 4, 1]) -> (%y) {
  %y: f32[*] = LSTM(%x, %w, %r) {hidden_size = 1} version 14 @"n" from ["n"]
} })",
                     {ones({1, 1, 1}, 80), ones({1, 4, 1}, -1), ones({1, 4, 1}, 0)});
  NumericsContract contract = in_float();
  EXPECT_LT(lstm.errors(contract).error.at(0), 1e-20);
  contract.by_formula = true;
  EXPECT_GT(lstm.errors(contract).error.at(0), 1e-8);
}

// 1 - z of a gate that is nearly open, by whatever function z comes.
TEST(ExpectedError, TheGateOfAGruIsTakenFromOne) {
  const auto row = [](Dims dims, const std::vector<double>& values) {
    return Tensor::from_doubles(kF32, std::move(dims), values);
  };
  const OneNode gru(R"(model ir=8 {
graph "g" (%x: f32[1, 1, 1], %w: f32[1, 3, 1], %r: f32[1, 3, 1], %b: f32[1, 6]) -> (%y) {
  %y: f32[*] = GRU(%x, %w, %r, %b) {hidden_size = 1} version 14 @"n" from ["n"]
} })",
                    {row({1, 1, 1}, {0}), row({1, 3, 1}, {0, 0, 0}), row({1, 3, 1}, {0, 0, 0}),
                     row({1, 6}, {15, 0, 1, 0, 0, 0})});
  EXPECT_GT(gru.errors(in_float()).error.at(0), 1e-8);  // of 2.3e-7
}

// A factor that meets a large number is seen although it is as good as nothing itself.
TEST(ExpectedError, FactorsOfBFloat16ThatAreSubnormalMayBeZero) {
  const auto error = [](ElementType type, double factor) {
    const std::string name(element_type_short_name(type));
    const OneNode product(fmt::format(R"(model ir=8 opset "" 17 {{
      graph "g" (%x: {0}[1, 1], %w: {0}[1, 1]) -> (%y) {{
        %y: {0}[*] = MatMul(%x, %w) version 13 @"y" from ["y"]
      }}
    }})",
                                      name),
                          {Tensor::from_doubles(type, {1, 1}, std::vector<double>{1e9}),
                           Tensor::from_doubles(type, {1, 1}, std::vector<double>{factor})});
    NumericsContract contract = in_float();
    contract.stored = type;
    const auto results = ErrorModel(product.node(), product.operands).outputs(contract);
    return results[0].at(0) / std::abs(results[0].value.to_doubles()[0]);
  };
  EXPECT_NEAR(error(ElementType::kBFloat16, 1e-39), 1, 0.01);
  EXPECT_LT(error(ElementType::kBFloat16, 1e-37), 0.01);
  EXPECT_LT(error(ElementType::kFloat, 1e-39), 1e-4);
}

// x / 6 + 0.5 is rounded at the size of a half, however small it becomes.
TEST(ExpectedError, WhatCancelsInHardSwishIsAllowed) {
  const OneNode node(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[3]) -> (%y) {
    %y: f32[*] = HardSwish(%x) version 17 @"y" from ["y"]
  } })",
                     {Tensor::from<float>(kF32, {3}, {-2.99F, -2.9999F, -50})});
  const auto results = ErrorModel(node.node(), node.operands).outputs(in_float());
  for (const size_t near : {0, 1}) {
    EXPECT_GT(kLargestDeviation * results[0].at(near), 9e-8);  // a unit of a half, times x
    EXPECT_LT(kLargestDeviation * results[0].at(near), 1e-5);
  }
  EXPECT_LT(kLargestDeviation * results[0].at(2), 1e-5);
}

// A tail of a function is made of a difference from one, whatever operator the function is part of.
TEST(ExpectedError, WhatCancelsInVariantsOfAFunctionIsAllowedToo) {
  const auto error_of = [](const char* op, const char* attributes) {
    const OneNode node(fmt::format(R"(model ir=8 opset "" 17 {{ graph "g" (%x: f32[1]) -> (%y) {{
      %y: f32[*] = {}(%x) {} version 1 @"y" from ["y"] }} }})",
                                   op, attributes),
                       {Tensor::from<float>(kF32, {1}, {-9})});
    return ErrorModel(node.node(), node.operands).outputs(in_float())[0].at(0);
  };
  EXPECT_GT(error_of("com.microsoft::ScaledSiLU", "{alpha = float 1}"), 1e-8);
  EXPECT_GT(error_of("ParametricSoftplus", "{alpha = float 1, beta = float 1}"), 1e-9);
}

// 0 / 1e-12 is 0, but no number where the group rounds its divisor to float16, which holds that as zero.
TEST(ExpectedError, DivisorsThatRoundingMakesZeroHaveNoBound) {
  const Model model = grouped(R"(graph "g" (%x: f32[3], %d: f32[3]) -> (%y) {
    %n: f16[3] = Cast(%d) {to = 10} version 13 @"n" from ["n"]
    %w: f32[3] = Cast(%n) {to = 1} version 13 @"w" from ["w"]
    %y: f32[3] = Div(%x, %w) version 14 @"y" from ["y"] })");
  NumericsContract contract = in_float();
  contract.rounds_between = true;
  // In order of first use: the divisor comes first.
  const std::vector<Tensor> operands = {Tensor::from<float>(kF32, {3}, {1e-12F, 1e-12F, 1}),
                                        Tensor::from<float>(kF32, {3}, {0, 1, 0})};
  const auto errors = ErrorModel(*model.graph->nodes().back(), operands).outputs(contract).at(0);
  EXPECT_EQ(errors.at(0), HUGE_VAL);
  EXPECT_EQ(errors.at(1), HUGE_VAL);
  EXPECT_LT(errors.at(2), 1e-3);
}

// Equal rows have equal errors, and as many terms make them larger as they are independent: no draw tells.
TEST(ExpectedError, SumsAndMeansAreNotDrawn) {
  for (const char* op : {"ReduceMean", "ReduceSum"}) {
    const std::string text = fmt::format(
        R"(model ir=8 opset "" 11 {{ graph "g" (%x: f32[6, 64]) -> (%y) {{
      %y: f32[*] = {}(%x) {{axes = ints[1], keepdims = 0}} version 11 @"sum" from ["sum"]
    }} }})",
        op);
    auto row = noise({64}, 3).to_doubles(), rows = row;
    for (int i = 1; i < 6; ++i) rows.insert(rows.end(), row.begin(), row.end());
    const OneNode node(text, {Tensor::from_doubles(kF32, {6, 64}, rows)});
    const auto errors = node.errors(in_float()).error;
    ASSERT_EQ(errors.size(), 6U);
    for (const double each : errors) EXPECT_DOUBLE_EQ(each, errors[0]) << op;
    // The error of the operand itself comes out times the root of its terms, or divided by that.
    constexpr double kLarge = 0.5;
    const std::vector<double> off(rows.size(), kLarge);
    const auto moved = ErrorModel(node.node(), node.operands, {off}).outputs(in_float()).at(0).error;
    EXPECT_NEAR(moved[0], kLarge * (std::string(op) == "ReduceSum" ? 8 : 0.125), 1e-4) << op;
  }
}

}  // namespace
}  // namespace vernier
