// Quantization: ideal mode, saturation, ties, granularities, and shapes of the operators of com.microsoft.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Ints = std::vector<int64_t>;

Tensor one(ElementType type, double value) {
  return reals_of(type, {}, {value});
}

TEST(QuantizeLinear, IdealModeNeitherRoundsNorSaturates) {
  const OneNode quantize("QuantizeLinear", 21), dequantize("DequantizeLinear", 21);
  const Tensor x = floats({3}, {0.3, -7, 1e6}), scale = floats({}, {0.5}), zero = one(ElementType::kInt8, 3);
  const Tensor q = quantize.run({x, scale, zero}, ReferenceMode::kIdeal)[0];
  EXPECT_EQ(q.type(), ElementType::kDouble);
  const auto inputs = x.to_doubles(), quantized = q.to_doubles();
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(quantized[i], inputs[i] / 0.5 + 3);
  EXPECT_EQ(dequantize.reals({q, scale, zero}, ReferenceMode::kIdeal), inputs);
}

TEST(QuantizeLinear, SaturatesEveryTypeAndTakesNanAsTheLowestInteger) {
  const Tensor x = floats({4}, {kInf, -kInf, 1e30, kNan}), scale = floats({}, {1});
  const std::map<ElementType, std::pair<double, double>> ranges = {
      {ElementType::kInt8, {-128, 127}},      {ElementType::kUint8, {0, 255}},
      {ElementType::kInt16, {-32768, 32767}}, {ElementType::kInt4, {-8, 7}},
      {ElementType::kUint4, {0, 15}},         {ElementType::kInt2, {-2, 1}},
      {ElementType::kUint2, {0, 3}},          {ElementType::kUint16, {0, 65535}}};
  for (const auto& [type, range] : ranges) {
    EXPECT_THAT(OneNode("QuantizeLinear", 25).reals({x, scale, one(type, 0)}),
                ElementsAre(range.second, range.first, range.second, range.first))
        << element_type_name(type);
  }
}

TEST(QuantizeLinear, Float8SaturatesOnlyIfTold) {
  const std::vector<Tensor> inputs = {floats({2}, {1e4, -1e4}), floats({}, {1}),
                                      one(ElementType::kFloat8E4M3FN, 0)};
  EXPECT_THAT(OneNode("QuantizeLinear", 21).reals(inputs), ElementsAre(448, -448));
  EXPECT_THAT(OneNode("QuantizeLinear", 21, {{"saturate", int64_t{0}}}).reals(inputs),
              ElementsAre(testing::IsNan(), testing::IsNan()));
}

TEST(QuantizeLinear, TheTypeOfTheScaleDecidesWhatIsATie) {
  // 0.5 / (5 / 255) is 25.5 in FLOAT, and below it in DOUBLE.
  const Tensor scale = floats({}, {5.0 / 255});
  EXPECT_THAT(OneNode("QuantizeLinear", 13).reals({floats({1}, {0.5}), scale}), ElementsAre(26));
}

TEST(QuantizeLinear, BlocksThatDoNotFitAreRefused) {
  const Tensor x = floats({2, 5}, std::vector<double>(10, 1));
  const auto quantize = [&](int64_t block, const Dims& scales) {
    const Tensor scale = floats(scales, std::vector<double>(static_cast<size_t>(element_count(scales)), 1));
    return OneNode("QuantizeLinear", 21, {{"axis", int64_t{1}}, {"block_size", block}}).run({x, scale});
  };
  EXPECT_NO_THROW(quantize(2, {2, 3}));
  EXPECT_THROW(quantize(2, {2, 2}), Error);
  EXPECT_THROW(quantize(2, {3}), Error);
  EXPECT_THROW(quantize(-1, {2, 3}), Error);
  EXPECT_THROW(quantize(std::numeric_limits<int64_t>::max(), {2, 1}), Error);
}

TEST(QLinearMatMul, IdealModeIsTheProductOfTheReals) {
  const Tensor a = reals_of(ElementType::kUint8, {1, 2}, {10, 20}),
               b = reals_of(ElementType::kInt8, {2, 1}, {3, -4});
  const std::vector<Tensor> inputs = {a,
                                      floats({}, {0.5}),
                                      one(ElementType::kUint8, 5),
                                      b,
                                      floats({}, {0.25}),
                                      one(ElementType::kInt8, 1),
                                      floats({}, {2}),
                                      one(ElementType::kUint8, 7)};
  const double product = (2.5 * 0.5) + (7.5 * -1.25);
  EXPECT_THAT(OneNode("QLinearMatMul", 21).reals(inputs, ReferenceMode::kIdeal),
              ElementsAre(product / 2 + 7));
  EXPECT_THAT(OneNode("QLinearMatMul", 21).reals(inputs), ElementsAre(std::nearbyint(product / 2) + 7));
}

TEST(QLinearMatMul, AScaleThatIsLeftOutIsRefused) {
  const Tensor a = reals_of(ElementType::kUint8, {1, 1}, {10}), scale = floats({}, {0.5}),
               zero = one(ElementType::kUint8, 5);
  const OneNode product("QLinearMatMul", 21);
  EXPECT_NO_THROW(product.run({a, scale, zero, a, scale, zero, scale, zero}));
  EXPECT_THROW(product.run({a, scale, zero, a, scale, zero, Tensor(), zero}), Error);
  EXPECT_THROW(product.run({a, Tensor(), zero, a, scale, zero, scale, zero}), Error);
  const Tensor image = reals_of(ElementType::kUint8, {1, 1, 1, 1}, {10});
  const OneNode conv("QLinearConv", 10);
  EXPECT_NO_THROW(conv.run({image, scale, zero, image, scale, zero, scale, zero}));
  EXPECT_THROW(conv.run({image, scale, zero, image, scale, zero, Tensor(), zero}), Error);
}

TEST(QLinearConv, ShapesOfImagesWithChannelsLastAreFollowed) {
  const Dim n = Dim::symbol("n"), h = Dim::symbol("h"), w = Dim::symbol("w");
  const ValueInfo scalar = typed(ElementType::kFloat, {}), zero = typed(ElementType::kUint8, {});
  const OneNode conv("QLinearConv", 1, {{"channels_last", int64_t{1}}, {"strides", Ints{2, 1}}},
                     "com.microsoft");
  const auto y = conv.infer({typed(ElementType::kUint8, {n, h, w, 3}), scalar, zero,
                             typed(ElementType::kUint8, {8, 3, 3, 3}), scalar, zero, scalar, zero});
  EXPECT_EQ(y.type.tensor.shape, (Shape{n, floordiv(h - 3, 2) + 1, w - 2, 8}));
}

TEST(MatMulNBits, ForeignSizesAreRefused) {
  const auto multiply = [](int64_t k, int64_t block, const Tensor& index) {
    return OneNode("MatMulNBits", 1,
                   {{"K", k}, {"N", int64_t{1}}, {"bits", int64_t{4}}, {"block_size", block}},
                   "com.microsoft")
        .run({floats({1, 4}, {1, 2, 3, 4}), reals_of(ElementType::kUint8, {1, 2, 1}, {0x98, 0xa7}),
              floats({2}, {1, 10}), Tensor(), index});
  };
  EXPECT_THAT(multiply(4, 2, Tensor())[0].to_doubles(), ElementsAre(0 + 2 + 10 * (-3 + 8)));
  EXPECT_THROW(multiply(5, 2, Tensor()), Error);
  EXPECT_THROW(multiply(4, 0, Tensor()), Error);
  EXPECT_THROW(multiply(4, 4, Tensor()), Error);
  EXPECT_THROW(multiply(4, 2, Tensor::from_ints(ElementType::kInt32, {4}, Ints{0, 1, 2, 0})), Error);
}

// The quotient that becomes the zero point is a float, as in the function that ONNX gives: exactly 127.5,
// though the scale, 6 / 255 as a float, is a little larger.
TEST(DynamicQuantizeLinear, ZeroPointsAreRoundedAsOnnxDoes) {
  const OneNode quantize("DynamicQuantizeLinear", 11, {}, "", 3);
  for (const ReferenceMode mode : {ReferenceMode::kDeclared, ReferenceMode::kIdeal}) {
    const auto outputs = quantize.run({floats({2}, {-3, 3})}, mode);
    EXPECT_EQ(outputs[2].to_doubles()[0], 128);
  }
}

}  // namespace
}  // namespace vernier::ops
