// Convolutions, normalisation and recurrence: what implementations get wrong. Expected values are worked out
// by hand.
#include "nn_values.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

TEST(ConvTranspose, GroupsOutputPaddingAndOutputShape) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 3, 4}), w = floats({2, 1, 3}, {1, 1, 1, 1, 10, 100});
  const AttributeMap base{{"group", int64_t{2}}, {"strides", Ints{2}}};
  EXPECT_THAT(OneNode("ConvTranspose", 11, with(base, {{"output_padding", Ints{1}}})).reals({x, w}),
              ElementsAre(1, 1, 3, 2, 2, 0, 3, 30, 304, 40, 400, 0));
  // Four of five elements: the odd one is cut off at the beginning, but for SAME_UPPER.
  const AttributeMap sized = with(base, {{"output_shape", Ints{4}}});
  EXPECT_THAT(OneNode("ConvTranspose", 11, sized).reals({x, w}), ElementsAre(1, 3, 2, 2, 30, 304, 40, 400));
  EXPECT_THAT(
      OneNode("ConvTranspose", 11, with(sized, {{"auto_pad", std::string("SAME_UPPER")}})).reals({x, w}),
      ElementsAre(1, 1, 3, 2, 3, 30, 304, 40));
}

TEST(Conv, GroupsDilationsAndPaddingAgainstHandSums) {
  const Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40}), bias = floats({2}, {100, 200});
  const AttributeMap attributes{{"dilations", Ints{2}}, {"pads", Ints{1, 1}}};
  EXPECT_THAT(OneNode("Conv", 11, attributes).reals({x, floats({1, 2, 2}, {1, 2, 1, 1})}),
              ElementsAre(24, 47, 70, 33));
  EXPECT_THAT(OneNode("Conv", 11, with(attributes, {{"group", int64_t{2}}}))
                  .reals({x, floats({2, 1, 2}, {1, 2, 1, 1}), bias}),
              ElementsAre(104, 107, 110, 103, 220, 240, 260, 230));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = floats({1, 2, 4}, ramp(8)), w = floats({2, 2, 3}, ramp(12));
  for (const AttributeMap& attributes :
       {AttributeMap{{"strides", Ints{0}}}, AttributeMap{{"dilations", Ints{-1}}},
        AttributeMap{{"pads", Ints{-1, 0}}}, AttributeMap{{"group", int64_t{0}}},
        AttributeMap{{"group", int64_t{2}}}, AttributeMap{{"kernel_shape", Ints{2}}},
        AttributeMap{{"dilations", Ints{int64_t{1} << 62}}}, AttributeMap{{"strides", Ints{1, 1}}},
        AttributeMap{{"auto_pad", std::string("SAME")}}, AttributeMap{{"dilations", Ints{2}}}}) {
    EXPECT_THROW(OneNode("Conv", 11, attributes).run({x, w}), Error);
  }
  EXPECT_THROW(OneNode("Conv", 11).run({x, floats({2, 2, 0}, {})}), Error);
}

TEST(BatchNormalization, TinyVarianceIsNotFolded) {
  const Tensor x = reals_of(ElementType::kDouble, {1, 2, 1}, {1, 1}),
               one = reals_of(ElementType::kDouble, {2}, {1, 1});
  const Tensor mean = reals_of(ElementType::kDouble, {2}, {1 - 1e-9, 0}),
               variance = reals_of(ElementType::kDouble, {2}, {1e-18, 3});
  for (const int64_t version : {7, 9, 14, 15}) {
    EXPECT_THAT(
        OneNode("BatchNormalization", version, {{"epsilon", 0.0F}}).reals({x, one, one, mean, variance}),
        testing::ElementsAre(testing::DoubleNear(2, 1e-6), 1 + 1 / std::sqrt(3.0)));
  }
}

TEST(BatchNormalization, TrainingIsAskedForDifferentlyByOpset) {
  const auto doubles = [](std::vector<double> values) {
    return reals_of(ElementType::kDouble, {static_cast<int64_t>(values.size())}, values);
  };
  const Tensor x = reals_of(ElementType::kDouble, {2, 1, 2}, {1, 3, 5, 7});
  const std::vector<Tensor> inputs = {x, doubles({1}), doubles({0}), doubles({0}), doubles({1})};
  const AttributeMap exact{{"epsilon", 0.0F}, {"momentum", 0.5F}};
  const auto run = [&](int64_t version, const AttributeMap& more, size_t outputs) {
    return OneNode("BatchNormalization", version, with(exact, more), "", outputs).run(inputs);
  };
  const double r = 1 / std::sqrt(5.0);
  for (const auto& results : {run(14, {{"training_mode", int64_t{1}}}, 3), run(7, {}, 5), run(6, {}, 5)}) {
    EXPECT_THAT(results[0].to_doubles(), Pointwise(Near(), {-3 * r, -r, r, 3 * r}));
    EXPECT_THAT(results[1].to_doubles(), ElementsAre(2));
    EXPECT_THAT(results[2].to_doubles(), ElementsAre(3));
    if (results.size() == 5) {
      EXPECT_THAT(results[3].to_doubles(), ElementsAre(4));
    }
  }
  for (const auto& results : {run(14, {}, 1), run(9, {}, 1), run(6, {{"is_test", int64_t{1}}}, 1)}) {
    EXPECT_THAT(results[0].to_doubles(), ElementsAre(1, 3, 5, 7));
  }
}

TEST(BatchNormalization, KeepsStatisticsPerElementWhereNotSpatial) {
  const Tensor x = floats({1, 1, 2}, {3, 3}), one = floats({1, 2}, {1, 1}), zero = floats({1, 2}, {0, 0});
  const AttributeMap attributes{{"epsilon", 0.0F}, {"spatial", int64_t{0}}};
  EXPECT_THAT(OneNode("BatchNormalization", 7, attributes).reals({x, one, zero, floats({1, 2}, {1, 2}), one}),
              ElementsAre(2, 1));
}

TEST(GroupNormalization, ScaleIsPerGroupBeforeOpset21) {
  const Tensor x = floats({1, 4, 1}, {0, 2, 10, 14}), two = floats({2}, {2, 3}),
               four = floats({4}, {1, 2, 3, 4});
  const AttributeMap attributes{{"epsilon", 0.0F}, {"num_groups", int64_t{2}}};
  EXPECT_THAT(OneNode("GroupNormalization", 18, attributes).reals({x, two, floats({2}, {0, 1})}),
              ElementsAre(-2, 2, -2, 4));
  EXPECT_THAT(OneNode("GroupNormalization", 21, attributes).reals({x, four, floats({4}, {0, 0, 1, 1})}),
              ElementsAre(-1, 2, -2, 5));
  EXPECT_THROW(OneNode("GroupNormalization", 21, attributes).run({x, two, two}), Error);
}

TEST(LayerNormalization, StatisticsKeepTheStashType) {
  const OneNode node("LayerNormalization", 17, {{"epsilon", 0.0F}}, "", 3);
  const auto results = node.run(
      {reals_of(ElementType::kFloat16, {1, 2}, {1, 5}), reals_of(ElementType::kFloat16, {2}, {1, 3})});
  EXPECT_THAT(results[0].to_doubles(), ElementsAre(-1, 3));
  EXPECT_EQ(results[1].type(), ElementType::kFloat);
  EXPECT_THAT(results[1].to_doubles(), ElementsAre(3));
  EXPECT_THAT(results[2].to_doubles(), ElementsAre(0.5));
}

TEST(Rnn, BackwardsAShortSequenceStartsAtItsOwnEnd) {
  const Tensor x = floats({2, 2, 1}, {1, 1, 10, 10}), one = floats({1, 1, 1}, {1});
  const Tensor lengths = reals_of(ElementType::kInt32, {2}, {1, 2});
  const AttributeMap attributes{{"activations", std::vector<std::string>{"Relu"}},
                                {"direction", std::string("reverse")},
                                {"hidden_size", int64_t{1}}};
  const auto results = OneNode("RNN", 14, attributes, "", 2).run({x, one, one, Tensor(), lengths});
  EXPECT_THAT(results[0].to_doubles(), ElementsAre(1, 11, 0, 10));
  EXPECT_THAT(results[1].to_doubles(), ElementsAre(1, 11));
}

// One channel a group is computed in a way of its own.
TEST(Conv, PaddingIsMultipliedByWeightsThatAreNotFinite) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const AttributeMap pads = {{"pads", Attribute(std::vector<int64_t>{1, 1, 0, 1})}};
  const Tensor dense = floats({1, 1, 2, 3}, {0, 0, kInfinite, 1, 1, 1}), x = floats({1, 1, 1, 3}, {1, 2, 3});
  AttributeMap grouped = pads;
  grouped.emplace("group", Attribute(int64_t{2}));
  const auto one = OneNode{"Conv", 11, pads}.reals({x, dense});
  const auto two = OneNode{"Conv", 11, grouped}.reals(
      {floats({1, 2, 1, 3}, {1, 2, 3, 1, 2, 3}),
       floats({2, 1, 2, 3}, {0, 0, kInfinite, 1, 1, 1, 0, 0, 1, 1, 1, kInfinite})});
  ASSERT_EQ(one.size(), 3U);
  ASSERT_EQ(two.size(), 6U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(one[i])) << i;  // the line above the image
    EXPECT_TRUE(std::isnan(two[i])) << i;
  }
  EXPECT_EQ(two[3], kInfinite);
  EXPECT_EQ(two[4], kInfinite);
  EXPECT_TRUE(std::isnan(two[5]));
}

// More starts than inference follows.
TEST(Slice, LongListsAreAFaultOfTheInput) {
  constexpr int64_t kMany = kMaxFollowedElements + 1;
  const Tensor x(ElementType::kFloat, {1, 2, 3}), starts(ElementType::kInt64, {kMany});
  try {
    OneNode{"Slice", 13}.run({x, starts, ints({3}, {1, 2, 3})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("more than a tensor has axes"), std::string::npos)
        << error.what();
  }
}

// Random inputs draw such lists where their length is free; the search for sizes ends where an error is not a
// fault of the input.
TEST(Lists, LongerThanAnyRankAreAFaultOfTheInput) {
  constexpr int64_t kMany = kMaxFollowedElements + 1;
  const Tensor x(ElementType::kFloat, {1, 2, 3}), many = ints({kMany}, std::vector<int64_t>(kMany, 1));
  const auto code = [](const OneNode& node, const std::vector<Tensor>& inputs) {
    try {
      node.run(inputs);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode{};  // none
  };
  EXPECT_EQ(code({"Tile", 13}, {x, many}), ErrorCode::kBadInput);
  EXPECT_EQ(code({"Expand", 13}, {x, many}), ErrorCode::kBadInput);
  EXPECT_EQ(code({"Reshape", 13}, {x, many}), ErrorCode::kBadInput);
  EXPECT_EQ(code({"ConstantOfShape", 9}, {many}), ErrorCode::kBadInput);
  EXPECT_EQ(code({"Resize", 13}, {x, {}, {}, many}), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace vernier::ops
