#include "vernier/data/input_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/small_models.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/data/random/shape_choices.h"

namespace vernier {
namespace {

TEST(ParseShapes, OneInputAfterTheOther) {
  const auto sets = parse_shapes({"x:1x3x640x480", "y:", "x:2x3x32x32,ns::b,c:7"});
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0], (InputShapes{{"x", {1, 3, 640, 480}}, {"y", {}}}));
  EXPECT_EQ(sets[1], (InputShapes{{"x", {2, 3, 32, 32}}, {"ns::b,c", {7}}}));
}

TEST(ParseShapes, RefusesOthers) {
  for (const char* text : {"", "x", "x:1x", "x:x1", "x:-1", "x:1x3,", "x:99999999999999999999", "x:1 x3"})
    EXPECT_THROW(parse_shapes({text}), Error) << text;
}

TEST(ParseValueRanges, TakesOneInputOrAll) {
  const auto ranges = parse_value_ranges({"x:[-1, 1.5]", "[0,2]"});
  EXPECT_EQ(ranges.at("x").low, -1);
  EXPECT_EQ(ranges.at("x").high, 1.5);
  EXPECT_EQ(ranges.at("").high, 2);
  for (const char* text :
       {"", "x", "x:[1,0]", "x:[1]", "x:[1,nan]", "x[1,2]", "x:[1,2,3]", "x:[,]", "x:[1,2"})
    EXPECT_THROW(parse_value_ranges({text}), Error) << text;
  EXPECT_THROW(parse_value_ranges({"x:[0,1]", "x:[0,2]"}), Error);
}

TEST(SymbolsOf, BindsAndRefuses) {
  const Model model = small_model("%a: f32[N, 2], %b: f32[N, M], %c: f32[*]");
  EXPECT_EQ(symbols_of(model, {{"a", {3, 2}}, {"b", {3, 5}}, {"c", {1}}}),
            (SymbolValues{{"M", 5}, {"N", 3}}));
  EXPECT_THROW(symbols_of(model, {{"a", {3}}}), Error);
  EXPECT_THROW(symbols_of(model, {{"d", {3}}}), Error);
}

// ONNX Runtime takes no name for a promise, and some exporters write one for all that they do not know.
TEST(SymbolsOf, NameOfTwoSizesKeepsTheFirst) {
  const Model model = small_model("%a: f32[N, 2], %b: f32[N, M]");
  EXPECT_EQ(symbols_of(model, {{"a", {3, 2}}, {"b", {4, 5}}}), (SymbolValues{{"M", 5}, {"N", 3}}));
  NamedData inputs{{"a", Tensor(ElementType::kFloat, {3, 2})}, {"b", Tensor(ElementType::kFloat, {4, 5})}};
  EXPECT_THAT(fit_inputs(model, inputs),
              testing::ElementsAre("dimension N is 3 at axis 0 of input 'a', but 4 at axis 0 of input 'b'"));
}

TEST(FitInputs, OneNumberTakesTheRankThatIsDeclared) {
  const Model model = small_model("%a: f32[], %b: f32[1], %c: f32[N]");
  NamedData inputs{{"a", Tensor(ElementType::kFloat, {1})},
                   {"b", Tensor(ElementType::kFloat, {})},
                   {"c", Tensor(ElementType::kFloat, {})}};
  EXPECT_EQ(fit_inputs(model, inputs).size(), 3U);
  EXPECT_EQ(inputs.at("a").tensor.dims(), Dims{});
  EXPECT_EQ(inputs.at("b").tensor.dims(), Dims{1});
  EXPECT_EQ(inputs.at("c").tensor.dims(), Dims{1});
  EXPECT_THAT(fit_inputs(model, inputs), testing::IsEmpty());
  inputs["a"] = Tensor(ElementType::kFloat, {2});
  EXPECT_THROW(fit_inputs(model, inputs), Error);
  inputs["a"] = Tensor(ElementType::kFloat, {1, 1});
  EXPECT_THROW(fit_inputs(model, inputs), Error);
}

TEST(ShapeChoices, FollowTheMeaningOfAxes) {
  const auto choices = shape_choices(small_model("%image: f32[N, 3, H, W], %ids: i64[N, sequence]"));
  ASSERT_EQ(choices.size(), 4u);
  EXPECT_EQ(choices[0].front(), (SymbolValues{{"H", 1}, {"N", 1}, {"W", 1}, {"sequence", 1}}));
  EXPECT_EQ(choices[1].front(), (SymbolValues{{"H", 224}, {"N", 8}, {"W", 224}, {"sequence", 16}}));
  EXPECT_EQ(choices[3].front().at("H") % 2, 1);
}

TEST(ShapeChoices, KnowVolumesAndRecurrentStates) {
  const auto usual = shape_choices(small_model(
      "%volume: f32[1, 1, D, H, W], %state: f32[2, any, 64], %x: f32[other, 512]"))[1]
                         .front();
  EXPECT_EQ(usual, (SymbolValues{{"D", 8}, {"H", 8}, {"W", 8}, {"any", 8}, {"other", 8}}));
}

TEST(ShapeChoices, KeepEveryDimensionAboveZero) {
  const Model model =
      small_model("%x: f32[N, 3, H, W]", {"%y: f32[N, 8, H - 10, floordiv(W, 32)] = Conv(%x)"});
  for (const SizeAttempts& attempts : shape_choices(model)) {
    for (const SymbolValues& choice : attempts) {
      EXPECT_GT(choice.at("H"), 10);
      EXPECT_GE(choice.at("W"), 32);
    }
  }
  const SizeAttempts nothing = {SymbolValues{}};
  EXPECT_EQ(shape_choices(small_model("%x: f32[1, 3]")), std::vector<SizeAttempts>(1, nothing));
}

// A large image through a wide convolution takes a smaller batch, and larger images are not tried at all.
TEST(ShapeChoices, KeepTheWorkBearable) {
  const Model model =
      small_model("%x: f32[N, 3, H, W], %w: f32[512, 3, 11, 11]", {"%y: f32[N, 512, H, W] = Conv(%x, %w)"});
  const auto choices = shape_choices(model);
  ASSERT_GE(choices.size(), 2u);
  EXPECT_EQ(choices[0].front(), (SymbolValues{{"H", 1}, {"N", 1}, {"W", 1}}));
  EXPECT_EQ(choices[0].back().at("N"), 1);
  EXPECT_LE(choices[0].back().at("H"), 320);
  for (const SizeAttempts& attempts : choices) {
    for (const SymbolValues& sizes : attempts)
      EXPECT_LE(sizes.at("N") * sizes.at("H") * sizes.at("W") * 512 * 363, 1e10);
  }
  // Where nothing is bearable, the smallest that fits must do.
  const Model huge = small_model("%x: f32[N, 100000, 100000]", {"%y: f32[N, 100000, 100000] = Relu(%x)"});
  const SizeAttempts smallest = {{{"N", 1}}};
  EXPECT_EQ(shape_choices(huge), std::vector<SizeAttempts>(1, smallest));
}

}  // namespace
}  // namespace vernier
