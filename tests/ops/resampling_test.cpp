// Pools and resampling: what implementations get wrong. Expected values are worked out by hand.
#include "nn_values.h"

namespace vernier::ops {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsNan;
using testing::Pointwise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Floats = std::vector<float>;

// An input of symbolic sizes.
ValueInfo shaped(const Shape& shape) {
  ValueInfo info;
  info.type = ValueType::of(ElementType::kFloat, shape);
  return info;
}

ValueInfo known(const Tensor& tensor) {
  ValueInfo info;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  info.constant = tensor;
  return info;
}

const Dim h = Dim::symbol("h");

TEST(AveragePool, WhatCeilModeAddsNeverCounts) {
  const AttributeMap base{{"kernel_shape", Ints{3, 3}},
                          {"strides", Ints{2, 2}},
                          {"pads", Ints{1, 1, 1, 1}},
                          {"ceil_mode", int64_t{1}}};
  std::vector<double> values = ramp(16);
  for (double& value : values) ++value;
  const Tensor x = reals_of(ElementType::kDouble, {1, 1, 4, 4}, values);
  for (const int64_t version : {10, 19, 22}) {
    EXPECT_THAT(OneNode("AveragePool", version, with(base, {{"count_include_pad", int64_t{1}}})).reals({x}),
                Pointwise(Near(), {14 / 9.0, 30 / 9.0, 2.0, 57 / 9.0, 11.0, 6.0, 4.5, 7.5, 4.0}));
    EXPECT_THAT(OneNode("AveragePool", version, base).reals({x}),
                Pointwise(Near(), {3.5, 5.0, 6.0, 9.5, 11.0, 12.0, 13.5, 15.0, 16.0}));
  }
}

TEST(AveragePool, OnesStayOnesUnderEveryPadding) {
  const Tensor ones = floats({1, 1, 5, 7}, std::vector<double>(35, 1));
  const AttributeMap base{{"kernel_shape", Ints{2, 4}}, {"strides", Ints{2, 3}}};
  for (const char* padding : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    EXPECT_THAT(OneNode("AveragePool", 22, with(base, {{"auto_pad", std::string(padding)}})).reals({ones}),
                Each(1))
        << padding;
  }
  EXPECT_THAT(OneNode("AveragePool", 22, with(base, {{"pads", Ints{1, 2, 0, 3}}, {"dilations", Ints{2, 2}}}))
                  .reals({ones}),
              Each(1));
}

TEST(Pool, TheLastWindowStartsInsideTheInputOrBeforeIt) {
  const AttributeMap attributes{
      {"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"pads", Ints{0, 1}}, {"ceil_mode", int64_t{1}}};
  EXPECT_THAT(OneNode("MaxPool", 12, attributes).reals({floats({1, 1, 2}, {3, 5})}), ElementsAre(3));
}

TEST(Pool, SizesAreExpressions) {
  const auto size = [](const AttributeMap& more) {
    const AttributeMap base{{"kernel_shape", Ints{3}}, {"strides", Ints{2}}};
    return (*OneNode("MaxPool", 12, with(base, more)).infer({shaped({1, 8, h})}).type.tensor.shape)[2];
  };
  EXPECT_EQ(size({}), floordiv(h - 3, 2) + 1);
  EXPECT_EQ(size({{"pads", Ints{1, 1}}}), floordiv(h - 1, 2) + 1);
  EXPECT_EQ(size({{"ceil_mode", int64_t{1}}}), floordiv(h, 2));
  EXPECT_EQ(size({{"auto_pad", std::string("SAME_LOWER")}}), floordiv(h - 1, 2) + 1);
}

TEST(MaxPool, IndicesFollowStorageOrderAndChannels) {
  const Tensor x = floats({1, 2, 2, 3}, {1, 2, 3, 4, 9, 5, 7, 0, 0, 0, 0, 8});
  for (const auto& [order, expected] :
       {std::pair(int64_t{0}, Ints{4, 4, 6, 11}), std::pair(int64_t{1}, Ints{3, 3, 6, 11})}) {
    const OneNode node("MaxPool", 12, {{"kernel_shape", Ints{2, 2}}, {"storage_order", order}}, "", 2);
    const auto results = node.run({x});
    EXPECT_THAT(results[0].to_doubles(), ElementsAre(9, 9, 7, 8));
    EXPECT_EQ(results[1].to_ints(), expected);
  }
}

TEST(MaxPool, NanWinsPaddingNeverDoes) {
  const AttributeMap attributes{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_THAT(OneNode("MaxPool", 12, attributes).reals({floats({1, 1, 3}, {-5, kNan, -1})}),
              ElementsAre(-5, IsNan(), IsNan()));
  const Tensor bytes = reals_of(ElementType::kInt8, {1, 1, 3}, {-128, -100, -7});
  EXPECT_THAT(OneNode("MaxPool", 12, attributes).reals({bytes}), ElementsAre(-128, -100, -7));
}

// Padding never wins, whatever the type; ONNX Runtime, too, gives the lowest number of the type.
TEST(MaxPool, OfPaddingAloneIsTheLowestNumberOfTheType) {
  const AttributeMap attributes{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}, {"dilations", Ints{2}}};
  const auto lowest = [&](ElementType type) {
    return OneNode("MaxPool", 12, attributes).reals({reals_of(type, {1, 1, 1}, {1})});
  };
  EXPECT_THAT(lowest(ElementType::kInt8), ElementsAre(-128));
  EXPECT_THAT(lowest(ElementType::kUint8), ElementsAre(0));
  EXPECT_THAT(lowest(ElementType::kFloat16), ElementsAre(-std::numeric_limits<double>::infinity()));
  EXPECT_THAT(lowest(ElementType::kFloat), ElementsAre(-std::numeric_limits<double>::infinity()));
  EXPECT_THAT(OneNode("NhwcMaxPool", 1, attributes, "com.microsoft")
                  .reals({reals_of(ElementType::kInt8, {1, 1, 1}, {1})}),
              ElementsAre(-128));
}

TEST(Resize, NearestTakesTheScaleThatIsMeant) {
  const Tensor x = floats({1, 1, 26}, ramp(26)), scales = floats({3}, {1, 1, 64.0 / 26});
  const AttributeMap attributes{{"coordinate_transformation_mode", std::string("asymmetric")},
                                {"nearest_mode", std::string("floor")}};
  const auto y = OneNode("Resize", 13, attributes).reals({x, Tensor(), scales});
  ASSERT_EQ(y.size(), 64U);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<double>(i * 26 / 64)) << i;
  EXPECT_EQ(OneNode("Resize", 13).reals({floats({10}, ramp(10)), Tensor(), floats({1}, {0.7})}).size(), 7U);
  EXPECT_EQ(OneNode("Upsample", 7, {{"scales", Floats{1.2F}}}).reals({floats({5}, ramp(5))}),
            (std::vector<double>{0, 0, 1, 2, 3, 4}));
}

TEST(Resize, SizesAreExpressions) {
  const auto size = [](double scale) {
    return (*OneNode("Resize", 13)
                 .infer({shaped({h}), shaped({0}), known(floats({1}, {scale}))})
                 .type.tensor.shape)[0];
  };
  EXPECT_EQ(size(2), h * 2);
  EXPECT_EQ(size(0.5), floordiv(h, 2));
  EXPECT_EQ(size(0.7), floordiv(h * 7, 10));
}

TEST(Resize, LinearRampInEveryCoordinateMode) {
  const Tensor x = reals_of(ElementType::kDouble, {5}, ramp(5)), sizes = ints({1}, {8});
  const auto resized = [&](const char* mode) {
    const AttributeMap attributes{{"mode", std::string("linear")},
                                  {"coordinate_transformation_mode", std::string(mode)}};
    return OneNode("Resize", 19, attributes).reals({x, Tensor(), Tensor(), sizes});
  };
  const std::vector<double> half_pixel = {0, 0.4375, 1.0625, 1.6875, 2.3125, 2.9375, 3.5625, 4};
  for (const char* mode : {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"})
    EXPECT_THAT(resized(mode), Pointwise(Near(), half_pixel)) << mode;
  EXPECT_THAT(resized("align_corners"),
              Pointwise(Near(), {0.0, 4 / 7.0, 8 / 7.0, 12 / 7.0, 16 / 7.0, 20 / 7.0, 24 / 7.0, 4.0}));
  EXPECT_THAT(resized("asymmetric"), Pointwise(Near(), {0.0, 0.625, 1.25, 1.875, 2.5, 3.125, 3.75, 4.0}));
}

TEST(Resize, MeaningChangedAtOpset11) {
  const Tensor x = floats({2}, {1, 2}), twice = floats({1}, {2});
  const AttributeMap linear{{"mode", std::string("linear")}};
  EXPECT_THAT(OneNode("Upsample", 9, linear).reals({x, twice}), ElementsAre(1, 1.5, 2, 2));
  EXPECT_THAT(OneNode("Resize", 10, linear).reals({x, twice}), ElementsAre(1, 1.5, 2, 2));
  EXPECT_THAT(OneNode("Resize", 11, linear).reals({x, floats({0}, {}), twice}),
              ElementsAre(1, 1.25, 1.75, 2));
}

TEST(Resize, IntegersRoundAndSaturate) {
  const Tensor x = reals_of(ElementType::kUint8, {4}, {255, 255, 0, 0});
  const auto y =
      OneNode("Resize", 13, {{"mode", std::string("cubic")}}).reals({x, Tensor(), floats({1}, {2})});
  EXPECT_THAT(y, ElementsAre(255, 255, 255, 197, 58, 0, 0, 0));
}

TEST(GridSample, CornersAndOutsideUnderBothNames) {
  const Tensor x = floats({1, 1, 1, 2}, {1, 3}), grid = floats({1, 1, 4, 2}, {-1, 0, 1, 0, 3, 0, kNan, 0});
  for (const auto& [version, mode] :
       {std::pair(16, "bilinear"), std::pair(20, "linear"), std::pair(22, "linear")}) {
    const auto sampled = [&, version = version, mode = mode](const char* padding, int64_t align_corners) {
      const AttributeMap attributes{{"mode", std::string(mode)},
                                    {"padding_mode", std::string(padding)},
                                    {"align_corners", align_corners}};
      return OneNode("GridSample", version, attributes).reals({x, grid});
    };
    EXPECT_THAT(sampled("zeros", 0), ElementsAre(0.5, 1.5, 0, IsNan()));
    EXPECT_THAT(sampled("border", 0), ElementsAre(1, 3, 3, IsNan()));
    EXPECT_THAT(sampled("reflection", 0), ElementsAre(1, 3, 1, IsNan()));
    EXPECT_THAT(sampled("zeros", 1), ElementsAre(1, 3, 0, IsNan()));
    EXPECT_THAT(sampled("reflection", 1), ElementsAre(1, 3, 1, IsNan()));
  }
}

TEST(RoiAlign, HalfAPixelSinceOpset16) {
  const Tensor x = floats({1, 1, 2, 4}, {0, 1, 2, 3, 0, 1, 2, 3}), roi = floats({1, 4}, {1, 0, 3, 1}),
               image = ints({1}, {0});
  const AttributeMap one_sample{{"sampling_ratio", int64_t{1}}};
  EXPECT_THAT(OneNode("RoiAlign", 10, one_sample).reals({x, roi, image}), ElementsAre(2));
  EXPECT_THAT(OneNode("RoiAlign", 16, one_sample).reals({x, roi, image}), ElementsAre(1.5));
  EXPECT_THROW(OneNode("RoiAlign", 16).run({x, roi, ints({1}, {1})}), Error);
  EXPECT_THROW(OneNode("RoiAlign", 16).run({x, floats({1, 4}, {0, 0, kNan, 1}), image}), Error);
}

}  // namespace
}  // namespace vernier::ops
