// Products of integers against the reference, bit by bit. All scales are powers of two, so that every product
// and every sum is exact, ties included: a scale that is dropped or a zero point that is off by one shows.
#include <gmock/gmock.h>

#include "cpu/quantized_model.h"
#include "vernier/backends/cpu/processor.h"

namespace vernier {
namespace {

// Where oneDNN does not sum bytes exactly, own kernels do.
auto by_integers() {
  return ::testing::ElementsAre(
      ::testing::StartsWith(cpu::accumulates_int8_exactly() ? "onednn:" : "cpu:int16_pairs"));
}

TEST(Products, ConvolutionsWithZeroPointsAndPads) {
  struct Case {
    Dims x, w;
    std::vector<int64_t> pads;
    int64_t groups;
  };
  const std::vector<Case> cases = {{{2, 5, 9, 11}, {7, 5, 1, 1}, {0, 0, 0, 0}, 1},
                                   {{1, 16, 9, 11}, {32, 16, 3, 3}, {1, 1, 1, 1}, 1},
                                   {{1, 8, 9, 11}, {6, 4, 3, 3}, {1, 0, 0, 1}, 2},
                                   {{2, 24, 9, 11}, {24, 1, 3, 3}, {1, 1, 1, 1}, 24},
                                   {{2, 3, 40}, {8, 3, 5}, {2, 2}, 1},
                                   {{1, 3, 5, 6, 7}, {8, 3, 3, 3, 3}, {1, 1, 1, 0, 1, 1}, 1}};
  for (const Case& each : cases) {
    for (const ElementType type : {kU8, kS8}) {
      for (const double zero : {0.0, 7.0}) {
        Maker make;
        Value* x = make.dequantize(make.input(type, each.x, 1), 0.0625, zero, type);
        Value* y = make.node("Conv", {x, make.weights(each.w, 0, 2), make.bias(each.w[0])},
                             window(each.pads, each.groups));
        EXPECT_THAT(make.run(make.quantize(y, 32, 11, type), "qconv"), by_integers());
      }
    }
  }
}

// oneDNN 2.6 keeps wrong sums of some of these weights.
TEST(Products, GroupsOfWeightsOfOnePixel) {
  for (const int64_t groups : {2, 4, 8}) {
    for (const int64_t each : {1, 2, 8}) {  // channels of a group, of the result
      for (const ElementType type : {kU8, kS8}) {
        for (const int64_t pad : {0, 1}) {
          Maker make;
          Value* x = make.dequantize(make.input(type, {2, 8 * groups, 3, 1}, 1), 0.0625, 7, type);
          Value* y = make.node("Conv", {x, make.weights({each * groups, 8, 1, 1}, 0, 2)},
                               window({pad, pad, pad, pad}, groups));
          make.run(make.quantize(y, 32, 11, type), "qconv");
        }
      }
    }
  }
}

TEST(Products, WhatFollowsAConvolution) {
  for (const int variant : {0, 1, 2, 3, 4, 5}) {
    Maker make;
    Value* x = make.dequantize(make.input(kU8, {1, 16, 7, 9}, 1), 0.125, 3, kU8);
    Value* y =
        make.node("Conv", {x, make.weights({32, 16, 3, 3}, 0, 2), make.bias(32)}, window({1, 1, 1, 1}));
    Value* other = make.dequantize(make.input(kS8, {1, 32, 7, 9}, 3), 0.5, -9, kS8);
    if (variant == 0) y = make.node("Relu", {y});
    if (variant == 1) y = make.node("Clip", {y, make.reals({}, {-100.5}), make.reals({}, {600})});
    if (variant == 2) y = make.node("LeakyRelu", {y}, {{"alpha", Attribute(0.25F)}});
    if (variant == 3) y = make.node("Relu", {make.node("Add", {other, y})});
    if (variant >= 4) {  // as quantizers write residual blocks
      y = make.dequantize(make.quantize(y, 16, 100, kU8), 16, 100, kU8);
      y = make.node("Add", {y, other});
      if (variant == 5) y = make.node("Relu", {y});
    }
    EXPECT_THAT(make.run(make.quantize(y, 8, 21, kU8), "qconv"), by_integers()) << variant;
  }
}

TEST(Products, ResultsMayStayReal) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {1, 4, 7, 9}, 1), 0.125, 3, kU8);
  EXPECT_THAT(make.run(make.node("Conv", {x, make.weights({8, 4, 3, 3}, 0, 2), make.bias(8)}), "qconv"),
              by_integers());
}

TEST(Products, TheZeroPointOfTheWeightsStaysWithFloats) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {1, 4, 7, 9}, 1), 0.125, 3, kU8);
  Value* w = make.dequantize(make.constant(bytes(kU8, {8, 4, 3, 3}, 2)), 0.25, 77, kU8);
  EXPECT_TRUE(make.run(make.quantize(make.node("Conv", {x, w}), 32, 0, kU8), "qconv").empty());
}

TEST(Products, Matrices) {
  for (const Dims& rows : {Dims{1}, Dims{13}, Dims{2, 5}}) {
    for (const ElementType type : {kU8, kS8}) {
      Maker make;
      Dims dims = rows;
      dims.push_back(33);
      Value* a = make.dequantize(make.input(type, dims, 1), 0.0625, 7, type);
      Value* y = make.node("Add", {make.bias(20), make.node("MatMul", {a, make.weights({33, 20}, 1, 2)})});
      EXPECT_THAT(make.run(make.quantize(y, 64, 3, type), "qmatmul"), by_integers());
    }
  }
}

TEST(Products, WeightsWithAZeroPoint) {
  for (const ElementType type : {kU8, kS8}) {
    Maker make;
    Value* a = make.dequantize(make.input(kU8, {6, 33}, 1), 0.0625, 7, kU8);
    Value* b = make.dequantize(make.constant(bytes(type, {33, 20}, 2)), 0.125, 5, type);
    EXPECT_THAT(make.run(make.quantize(make.node("MatMul", {a, b}), 16, 3, kU8), "qmatmul"), by_integers());
  }
}

TEST(Products, TwoTensorsThatAreMadeWhenItRuns) {
  for (const ElementType type : {kU8, kS8}) {
    Maker make;
    Value* a = make.dequantize(make.input(kU8, {2, 3, 6, 16}, 1), 0.0625, 7, kU8);
    Value* b = make.dequantize(make.input(type, {2, 3, 16, 9}, 2), 0.125, 5, type);
    EXPECT_THAT(make.run(make.quantize(make.node("MatMul", {a, b}), 16, 3, kS8), "qmatmul"), by_integers());
  }
}

TEST(Products, GemmWithTransposedWeights) {
  Maker make;
  Value* a = make.dequantize(make.input(kU8, {3, 40}, 1), 0.0625, 7, kU8);
  Value* y = make.node("Gemm", {a, make.weights({10, 40}, 0, 2), make.bias(10)},
                       {{"transB", Attribute(int64_t{1})}});
  EXPECT_THAT(make.run(make.quantize(y, 32, 3, kU8), "qmatmul"), by_integers());
}

TEST(Products, QLinearOperators) {
  const auto scalar = [](Maker& make, double scale) { return make.reals({}, {scale}); };
  for (const bool conv : {true, false}) {
    Maker make;
    Value* x = make.input(kU8, conv ? Dims{1, 6, 7, 9} : Dims{5, 24}, 1);
    Value* w = make.constant(bytes(kS8, conv ? Dims{8, 6, 3, 3} : Dims{24, 8}, 2));
    std::vector<double> scales = {0.5, 0.25, 0.125, 0.5, 1, 0.0625, 2, 0.25};
    std::vector<Value*> inputs = {x,
                                  scalar(make, 0.25),
                                  make.reals({}, {9}, kU8),
                                  w,
                                  make.reals({8}, scales),
                                  make.reals({8}, std::vector<double>(8, 0), kS8),
                                  scalar(make, 32),
                                  make.reals({}, {13}, kU8)};
    if (conv)
      inputs.push_back(make.reals({8}, {900, -3000, 0, 77, 1, -1, 20000, -20000}, ElementType::kInt32));
    EXPECT_THAT(make.run(make.node(conv ? "QLinearConv" : "QLinearMatMul", inputs,
                                   conv ? window({1, 1, 1, 1}) : AttributeMap{}),
                         conv ? "QLinearConv" : "QLinearMatMul"),
                by_integers());
  }
  Maker make;
  Value* c = make.reals({8}, {900, -3000, 0, 77, 1, -1, 20000, -20000}, ElementType::kInt32);
  Value* y = make.node("QGemm",
                       {make.input(kU8, {5, 24}, 1), scalar(make, 0.25), make.reals({}, {9}, kU8),
                        make.constant(bytes(kS8, {8, 24}, 2)), scalar(make, 0.5), make.reals({}, {0}, kS8), c,
                        scalar(make, 64), make.reals({}, {3}, kU8)},
                       {{"transB", Attribute(int64_t{1})}}, "com.microsoft");
  EXPECT_THAT(make.run(y, "QGemm"), by_integers());
}

TEST(Products, MeansOfChannels) {
  for (const Dims& dims : {Dims{2, 5, 9, 11}, Dims{1, 130, 4, 4}, Dims{2, 17, 8}}) {
    for (const ElementType type : {kU8, kS8}) {
      for (const int variant : {0, 1, 2, 3}) {
        Maker make;
        Value* x = make.dequantize(make.input(type, dims, 1), 0.125, 3, type);
        if (variant % 2 == 0) x = make.dequantize(make.quantize(x, 0.25, 7, kU8), 0.25, 7, kU8);
        std::vector<double> axes;
        for (size_t axis = 2; axis < dims.size(); ++axis) axes.push_back(static_cast<double>(axis));
        Value* y = variant < 2 ? make.node("GlobalAveragePool", {x})
                               : make.node("ReduceMean", {x, make.reals({static_cast<int64_t>(axes.size())},
                                                                        axes, ElementType::kInt64)});
        if (variant != 3) y = make.quantize(y, 0.0625, 100, type);
        EXPECT_THAT(make.run(y, "qmean"), ::testing::ElementsAre("cpu:quantized_mean"));
      }
    }
  }
}

TEST(Products, IntegersStayBetweenLayers) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {1, 8, 12, 12}, 1), 0.125, 3, kU8);
  Value* y = make.node("Conv", {x, make.weights({16, 8, 3, 3}, 0, 2)});
  y = make.dequantize(make.quantize(y, 32, 128, kU8), 32, 128, kU8);
  y = make.node("MaxPool", {y}, {{"kernel_shape", Attribute(std::vector<int64_t>{2, 2})}});
  y = make.dequantize(make.quantize(y, 32, 128, kU8), 32, 128, kU8);
  y = make.node("Mul", {make.node("Sigmoid", {y}), y});  // a table
  y = make.dequantize(make.quantize(y, 16, 5, kU8), 16, 5, kU8);
  y = make.node("Conv", {y, make.weights({4, 16, 3, 3}, 0, 4)});
  EXPECT_EQ(make.run(make.quantize(y, 64, 0, kU8), "qconv").size(), 2);
}

}  // namespace
}  // namespace vernier
