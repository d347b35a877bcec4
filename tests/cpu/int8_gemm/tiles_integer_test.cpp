// Products and convolutions of int8 on tiles against the reference, bit by bit: every shape of block and of
// image, zero points beyond the borders, and what follows the sums.
#include <gmock/gmock.h>

#include "cpu/int8_product.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

const std::string kName = std::string("cpu:tiles:") + cpu::kInt8Tiles;

using Case = Int8Case;

class Int8Tiles : public testing::Test {
 protected:
  void SetUp() override { VERNIER_NEEDS(kAmx); }

  static cpu::OneKernel product(const Case& each, ElementType type, double zero_point, double result_scale) {
    return int8_product(each, type, zero_point, result_scale, cpu::kInt8Tiles);
  }
};

TEST_F(Int8Tiles, RowsDepthsAndColumns) {
  for (const int64_t rows : {16, 17, 33, 100}) {
    for (const int64_t depth : {8, 63, 64, 200}) {
      for (const int64_t columns : {8, 16, 17, 32, 72})
        product({{rows, depth}, {depth, columns}}, rows % 2 == 0 ? kU8 : kS8, 5, 16).expect(kName);
    }
  }
  product({{2100, 64}, {64, 40}}, kU8, 0, 16).expect(kName);  // several blocks
  product({{337, 1024}, {1024, 80}}, kS8, -128, 32).expect(kName);
}

TEST_F(Int8Tiles, HalvesAreRoundedToEven) {
  for (const ElementType type : {kU8, kS8}) {
    cpu::OneKernel kernel = product({{64, 8}, {8, 48}}, type, 0, 0.5);
    for (const size_t input : {0, 3}) {  // a few units, of which scales make ties
      auto* values = static_cast<int8_t*>(kernel.inputs[input].mutable_raw());
      for (int64_t i = 0; i < kernel.inputs[input].size(); ++i)
        values[i] = static_cast<int8_t>(values[i] & 3);
    }
    kernel.expect(kName);
  }
}

TEST_F(Int8Tiles, AccumulatorsOfTheLargestInt8) {
  for (const int64_t depth : {int64_t{64}, cpu::kMostBytes}) {
    cpu::OneKernel kernel = product({{16, depth}, {depth, 8}}, kU8, 0, std::ldexp(1.0, 20));
    std::memset(kernel.inputs[0].mutable_raw(), 0xFF, kernel.inputs[0].byte_size());
    std::memset(kernel.inputs[3].mutable_raw(), 0x80, kernel.inputs[3].byte_size());
    kernel.expect(kName);
  }
}

TEST_F(Int8Tiles, Convolutions) {
  const auto with = [](std::vector<int64_t> strides, std::vector<int64_t> dilations,
                       std::vector<int64_t> pads) {
    return AttributeMap{{"strides", Attribute(std::move(strides))},
                        {"dilations", Attribute(std::move(dilations))},
                        {"pads", Attribute(std::move(pads))}};
  };
  std::vector<Case> cases = {
      {{1, 40, 7, 7}, {24, 40, 3, 3}, with({1, 1}, {1, 1}, {1, 1, 1, 1})},
      {{2, 64, 14, 14}, {32, 64, 1, 1}},
      {{2, 32, 15, 14}, {40, 32, 1, 1}, with({2, 2}, {1, 1}, {0, 0, 0, 0})},
      {{2, 16, 15, 13}, {48, 16, 3, 3}, with({2, 2}, {1, 1}, {1, 1, 1, 1})},
      {{1, 70, 16, 16}, {16, 70, 7, 7}, with({3, 2}, {1, 1}, {3, 3, 2, 2})},
      {{1, 16, 20, 19}, {16, 16, 3, 2}, with({2, 3}, {3, 2}, {0, 1, 5, 0})},
      {{1, 16, 5, 5}, {16, 16, 5, 5}, with({1, 1}, {1, 1}, {4, 4, 4, 4})},
      {{3, 64, 40}, {72, 64, 5}, with({1}, {1}, {2, 2})},
      {{1, 128, 100, 30}, {32, 128, 3, 3}, with({1, 1}, {1, 1}, {1, 1, 1, 1})},  // several blocks
  };
  const std::vector<Case> narrow = {
      {{1, 3, 39, 37}, {64, 3, 7, 7}, with({2, 2}, {1, 1}, {3, 3, 3, 3})},
      {{2, 3, 30, 33}, {32, 3, 3, 3}, with({2, 2}, {1, 1}, {0, 0, 1, 1})},
      {{1, 3, 20, 40}, {40, 3, 3, 3}, with({1, 1}, {1, 1}, {1, 1, 1, 1})},
      {{1, 3, 64, 48}, {24, 3, 16, 16}, with({16, 16}, {1, 1}, {0, 0, 0, 0})},
      {{2, 1, 25, 30}, {16, 1, 5, 4}, with({3, 1}, {1, 1}, {4, 3, 2, 0})},
      {{1, 2, 300, 70}, {16, 2, 9, 3}, with({1, 3}, {1, 1}, {0, 0, 0, 0})},  // several blocks
      {{1, 4, 18, 21}, {72, 4, 2, 11}, with({2, 1}, {1, 1}, {1, 9, 1, 10})},
      {{2, 3, 100}, {16, 3, 9}, with({2}, {1}, {4, 4})},
  };
  cases.insert(cases.end(), narrow.begin(), narrow.end());
  for (const Case& each : cases) {
    SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
    product(each, kU8, 0, 16).expect(kName);
    product(each, kU8, 255, 64).expect(kName);
    product(each, kS8, -77, 32).expect(kName);
  }
}

TEST_F(Int8Tiles, WhatFollowsTheSums) {
  for (const Dims& x : {Dims{1, 16, 7, 9}, Dims{2, 64, 8, 8}}) {
    for (int variant = 0; variant < 8; ++variant) {
      for (const ElementType type : {kU8, kS8}) {
        SCOPED_TRACE(variant);
        Maker make;
        const Dims y_dims{x[0], 56, x[2], x[3]};
        Value* y = make.node("Conv",
                             {make.dequantize(make.input(kU8, x, 1), 0.125, 3, kU8),
                              make.weights({56, x[1], 3, 3}, 0, 2), make.bias(56)},
                             window({1, 1, 1, 1}));
        Value* other = make.dequantize(make.input(type, y_dims, 3), 0.5, -9 + (type == kU8 ? 130 : 0), type);
        if (variant == 1) y = make.node("Relu", {y});
        if (variant == 2) y = make.node("Clip", {y, make.reals({}, {-100.5}), make.reals({}, {600})});
        if (variant == 3) y = make.node("LeakyRelu", {y}, {{"alpha", Attribute(0.25F)}});
        if (variant == 4) y = make.node("Relu", {make.node("Add", {other, y})});
        if (variant >= 5) {  // as quantizers write residual blocks
          y = make.dequantize(make.quantize(y, 16, 100, kU8), 16, 100, kU8);
          y = make.node("Add", {y, other});
          if (variant >= 6) y = make.node("Relu", {y});
          if (variant == 7) y = make.node("LeakyRelu", {y}, {{"alpha", Attribute(0.5F)}});
        }
        EXPECT_THAT(make.run(make.quantize(y, 8, type == kU8 ? 21 : -21, type), "qconv", cpu::kInt8Tiles),
                    ElementsAre(kName));
      }
    }
  }
}

TEST_F(Int8Tiles, ResultsMayStayReal) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {1, 24, 7, 9}, 1), 0.125, 3, kU8);
  Value* y = make.node("Conv", {x, make.weights({20, 24, 3, 3}, 0, 2), make.bias(20)});
  EXPECT_THAT(make.run(y, "qconv", cpu::kInt8Tiles), ElementsAre(kName));
}

TEST_F(Int8Tiles, MatricesOfGroups) {
  for (const bool transposed : {false, true}) {
    Maker make;
    Value* a = make.dequantize(make.input(kS8, {40, 33}, 1), 0.0625, 7, kS8);
    Value* w = transposed ? make.weights({20, 33}, 0, 2) : make.weights({33, 20}, 1, 2);
    Value* y = transposed ? make.node("Gemm", {a, w, make.bias(20)}, {{"transB", Attribute(int64_t{1})}})
                          : make.node("Add", {make.bias(20), make.node("MatMul", {a, w})});
    EXPECT_THAT(make.run(make.quantize(y, 64, 3, kS8), "qmatmul", cpu::kInt8Tiles), ElementsAre(kName));
  }
}

TEST_F(Int8Tiles, WhatDoesNotFitIsRefused) {
  const auto refused = [](cpu::OneKernel kernel) { EXPECT_FALSE(kernel.run()) << kernel.node.op; };
  const Case conv{{1, 32, 8, 8}, {16, 32, 3, 3}};
  product(conv, kU8, 1, 16).expect(kName);  // and with a change:
  auto kernel = product({{1, 32, 8, 8}, {16, 16, 3, 3}, window({0, 0, 0, 0}, 2)}, kU8, 1, 16);
  refused(kernel);
  kernel = product(conv, kU8, 1, 16);
  kernel.inputs[5] =
      Tensor::from_doubles(kS8, {16}, std::vector<double>(16, 1));  // weights with a zero point
  refused(kernel);
  kernel = product(conv, kU8, 1, 16);
  kernel.constants.erase(3);  // unknown weights
  refused(kernel);
  refused(product({{16, cpu::kMostBytes + 1}, {cpu::kMostBytes + 1, 8}}, kU8, 0, 16));
}

TEST_F(Int8Tiles, FaultsGoIntoThem) {
  for (const auto fault : {Fault::kChannelScale, Fault::kZeroPoint}) {
    Maker make;
    Value* x = make.dequantize(make.input(kU8, {1, 32, 9, 9}, 1), 0.125, 3, kU8);
    Value* y = make.quantize(make.node("Conv", {x, make.weights({48, 32, 3, 3}, 0, 2)}, window({1, 1, 1, 1})),
                             8, 5, kU8);
    std::string name;
    Observer observer;
    observer.after = [&](const ObservedStep& seen, int64_t) {
      const Step& step = seen.step();
      if (step.kernel && step.kernel->name.find(kName) != std::string::npos) name = step.kernel->name;
    };
    BuildOptions options;
    options.fault = FaultSpec{fault, ""};
    const auto sound = make.outputs(y, cpu::kInt8Tiles),
               faulty = make.outputs(y, cpu::kInt8Tiles, options, &observer);
    EXPECT_FALSE(faulty.identical(sound)) << fault_name(fault);
    EXPECT_NE(name, "");
  }
}

}  // namespace
}  // namespace vernier
