// Deviations that are no rounding: of steps and codes, of what is moved or selected, of NaN and Inf.
#include "vernier/error_analysis/deviation.h"

#include <cmath>

#include "error_analysis/one_node.h"
#include "vernier/error_analysis/node_rules.h"

namespace vernier {
namespace {

TEST(ExpectedError, StepsCountWhereTheyAreWithinReach) {
  const Model model = grouped(R"(graph "g" (%a: f32[3], %b: f32[3]) -> (%y) {
      %s: f32[*] = Add(%a, %b) version 14 @"s" from ["s"]
      %y: f32[*] = Floor(%s) version 13 @"y" from ["y"] })");
  const ErrorModel floor(*model.graph->nodes().back(),
                         {Tensor::from(kF32, {3}, std::vector<float>{1, 1.2F, 2.9999998F}),
                          Tensor::from(kF32, {3}, std::vector<float>{0.3F, 0.8F, 1e-8F})});
  const ElementErrors expected = floor.outputs({.computed = kF32, .stored = kF32}).at(0);
  const auto judged = [&](const std::vector<float>& values) {
    const Deviation found = deviation(expected, Tensor::from(kF32, {3}, values));
    return found.is_rounding() ? -1 : found.element;
  };
  EXPECT_EQ(judged({1, 2, 2}), -1);
  EXPECT_EQ(judged({1, 1, 3}), -1);  // beside a step either side will do
  EXPECT_EQ(judged({2, 2, 2}), 0);   // far from one it will not
  EXPECT_EQ(judged({1, 4, 2}), 1);
}

TEST(ExpectedError, QuantizedNumbersAreOneStepOffOnlyBesideATie) {
  OneNode quantize(R"(model ir=8 { graph "g" (%x: f32[3], %s: f32[], %z: u8[]) -> (%y) {
      %y: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @"y" from ["y"] } })",
                   {Tensor::from(kF32, {3}, std::vector<float>{0.25F, 0.3F, 200}),
                    Tensor::from(kF32, {}, std::vector<float>{0.1F}), Tensor(ElementType::kUint8, {})});
  const ElementErrors expected = quantize.errors({.computed = kF32, .stored = ElementType::kUint8});
  const auto judged = [&](const std::vector<uint8_t>& values) {
    const Deviation found = deviation(expected, Tensor::from(ElementType::kUint8, {3}, values));
    return found.is_rounding() ? -1 : found.element;
  };
  EXPECT_EQ(judged({2, 3, 255}), -1);
  EXPECT_EQ(judged({3, 3, 255}), -1);  // 2.5
  EXPECT_EQ(judged({4, 3, 255}), 0);
  EXPECT_EQ(judged({2, 4, 255}), 1);
  EXPECT_EQ(judged({2, 3, 254}), 2);  // saturated is no tie
}

TEST(ExpectedError, TheOrderOfWhatIsEqualIsExact) {
  const OneNode best(R"(model ir=8 {
graph "g" (%x: f32[4]) -> (%y) {
  %y: i64[*] = ArgMax(%x) {axis = 0, keepdims = 0} version 13 @"n" from ["n"]
} })",
                     {Tensor::from_doubles(kF32, {4}, std::vector<double>{1, 3, 0, 3})});
  const ElementErrors expected = best.errors(in_float());
  EXPECT_EQ(deviation(expected, Tensor::from<int64_t>(ElementType::kInt64, {}, {1})).worst, 0);
  EXPECT_GT(deviation(expected, Tensor::from<int64_t>(ElementType::kInt64, {}, {3})).worst, 1e6);
}

TEST(ExpectedError, WhatIsMovedOrSelectedIsExact) {
  OneNode pool(R"(model ir=8 { graph "g" (%x: f32[1, 1, 4, 4]) -> (%y) {
      %y: f32[*] = MaxPool(%x) {kernel_shape = ints[2, 2]} version 12 @"y" from ["y"] } })",
               {noise({1, 1, 4, 4}, 3)});
  EXPECT_TRUE(pool.errors(in_float()).is_exact() || pool.errors(in_float()).at(0) < 1e-7);
  OneNode transpose(R"(model ir=8 { graph "g" (%x: f32[3, 4]) -> (%y) {
      %y: f32[*] = Transpose(%x) version 13 @"y" from ["y"] } })",
                    {noise({3, 4}, 3)});
  EXPECT_TRUE(transpose.errors({.stored = kF32}).is_exact());
}

TEST(Deviation, NansAndInfinitiesMustStandWhereTheyAreExpected) {
  const double nan = std::nan(""), inf = HUGE_VAL;
  const ElementErrors expected{Tensor::from_doubles(ElementType::kDouble, {3}, std::vector{nan, inf, 1.0}),
                               {1, 1, 1}};
  const auto judged = [&](double a, double b, double c) {
    return deviation(expected, Tensor::from_doubles(kF32, {3}, std::vector{a, b, c})).is_rounding();
  };
  EXPECT_TRUE(judged(nan, inf, 1));
  EXPECT_FALSE(judged(0, inf, 1));
  EXPECT_FALSE(judged(nan, -inf, 1));
  EXPECT_FALSE(judged(nan, inf, nan));
  EXPECT_FALSE(judged(nan, inf, inf));
  EXPECT_THROW(deviation(expected, Tensor(kF32, {2})), Error);
}

TEST(Deviation, WhatOverflowsTheStoredTypeIsInfinite) {
  const ElementErrors expected{Tensor::from_doubles(ElementType::kDouble, {1}, std::vector{1e6}), {1}};
  const Tensor infinite = Tensor::from_doubles(ElementType::kFloat16, {1}, std::vector{HUGE_VAL});
  EXPECT_TRUE(deviation(expected, infinite).is_rounding());
  EXPECT_FALSE(
      deviation(expected, Tensor::from_doubles(ElementType::kFloat16, {1}, std::vector{6e4})).is_rounding());
}

// The mask hides the second key; a kernel that splits its factors does not split what it adds.
TEST(MixedValues, WhatAttentionAddsToItsScoresIsNotMixed) {
  const OneNode attention(R"(model ir=10 opset "" 23 {
    graph "g" (%q: f32[1, 1, 2, 2], %k: f32[1, 1, 2, 2], %m: f32[2, 2]) -> (%y) {
      %y: f32[*] = Attention(%q, %k, %k, %m) version 23 @"y" from ["y"] } })",
                          {noise({1, 1, 2, 2}, 1), noise({1, 1, 2, 2}, 2),
                           Tensor::from<float>(kF32, {2, 2}, {0, -HUGE_VALF, 0, -HUGE_VALF})});
  NumericsContract contract = in_float();
  contract.terms = 2;
  const Tensor &q = attention.operands[0], &k = attention.operands[1], &mask = attention.operands[2];
  for (const double value : evaluate_mixed(attention.node(), {&q, &k, &k, &mask}, contract)[0].to_doubles())
    EXPECT_TRUE(std::isfinite(value));
  const Tensor infinite = Tensor::from<float>(kF32, {1, 1, 2, 2}, {HUGE_VALF, 1, 1, 1});
  const auto mixed = evaluate_mixed(attention.node(), {&infinite, &k, &k, &mask}, contract)[0].to_doubles();
  EXPECT_TRUE(std::isnan(mixed[0]));
}

TEST(ErrorModel, ControlFlowIsNotAnalysed) {
  const Model model = parse_model(R"(model ir=8 { graph "g" (%c: bool[], %x: f32[2]) -> (%y) {
      %y: f32[*] = If(%c) version 13 @"y" from ["y"] regions {
        then_branch = graph "t" () -> (%x) { }
        else_branch = graph "e" () -> (%x) { } } } })");
  try {
    ErrorModel(*model.graph->nodes().back(), {Tensor(ElementType::kBool, {})});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace vernier
