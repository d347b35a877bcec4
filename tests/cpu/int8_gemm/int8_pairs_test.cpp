// Products of int8 as pairs of int16 against the reference, bit by bit: every shape of block, zero points of
// both operands, windows, and what follows the sums. By its tactic every processor runs them.
#include <gmock/gmock.h>

#include "cpu/int8_product.h"
#include "vernier/backends/cpu/int8_gemm/quad_block.h"
#include "vernier/backends/cpu/processor.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

constexpr const char *kTactic = "int8-pairs", *kByConstants = "cpu:int16_pairs",
                     *kInLines = "cpu:int16_pairs:lines", *kDepthwise = "cpu:int16_pairs:depthwise",
                     *kBatches = "cpu:int16_pairs:batches";

cpu::OneKernel product(const Int8Case& each, ElementType type, double zero_point, double result_scale) {
  return int8_product(each, type, zero_point, result_scale, kTactic);
}

// QLinearMatMul of two matrices, or more, that are not known.
cpu::OneKernel batches(const Dims& a, ElementType a_type, double a_zero, const Dims& b, ElementType b_type,
                       double b_zero) {
  cpu::OneKernel kernel{{"QLinearMatMul", 10, {}},
                        {bytes(a_type, a, 1), byte_scalar(0.25), byte_scalar(a_zero, a_type),
                         bytes(b_type, b, 2), byte_scalar(0.125), byte_scalar(b_zero, b_type),
                         byte_scalar(64), byte_scalar(a_type == kU8 ? 131 : -3, a_type)},
                        {1, 2, 4, 5, 6, 7}};
  kernel.tactic = kTactic;
  return kernel;
}

TEST(Int8Pairs, RowsDepthsAndColumns) {
  for (const int64_t rows : {1, 5, 6, 7, 12, 13, 97, 200}) {
    for (const int64_t depth : {1, 2, 31, 64, 203}) {
      for (const int64_t columns : {1, 15, 16, 17, 32, 72})
        product({{rows, depth}, {depth, columns}}, rows % 2 == 0 ? kU8 : kS8, 5, 16).expect(kByConstants);
    }
  }
  product({{2100, 64}, {64, 40}}, kU8, 0, 16).expect(kByConstants);
  product({{40, 768}, {768, 640}}, kU8, 77, 32).expect(kByConstants);  // threads share columns
}

TEST(Int8Pairs, AccumulatorsOfTheLargestInt8) {
  for (const int64_t depth : {64, 32768}) {
    cpu::OneKernel kernel = product({{16, depth}, {depth, 16}}, kU8, 0, std::ldexp(1.0, 20));
    std::memset(kernel.inputs[0].mutable_raw(), 0xFF, kernel.inputs[0].byte_size());
    std::memset(kernel.inputs[3].mutable_raw(), 0x80, kernel.inputs[3].byte_size());
    kernel.expect(kByConstants);
  }
  for (const int sign : {-1, 1}) {
    cpu::OneKernel kernel = batches({16, 32768}, kU8, sign < 0 ? 255 : 0, {32768, 16}, kU8, 0);
    kernel.inputs[6] = byte_scalar(std::ldexp(1.0, 20));
    std::memset(kernel.inputs[0].mutable_raw(), sign < 0 ? 0 : 0xFF, kernel.inputs[0].byte_size());
    std::memset(kernel.inputs[3].mutable_raw(), 0xFF, kernel.inputs[3].byte_size());
    kernel.expect(kBatches);
  }
}

TEST(Int8Pairs, WeightsWithZeroPoints) {
  for (const ElementType type : {kU8, kS8}) {
    cpu::OneKernel kernel = product({{7, 33}, {33, 20}}, kU8, 9, 16);
    kernel.inputs[3] = bytes(type, {33, 20}, 2);
    std::vector<double> zeros;
    for (int i = 0; i < 20; ++i) zeros.push_back(i * 5 + (type == kU8 ? 130 : -60));
    kernel.inputs[5] = Tensor::from_doubles(type, {20}, zeros);
    kernel.expect(kByConstants);
  }
}

AttributeMap windows(std::vector<int64_t> pads, std::vector<int64_t> strides, std::vector<int64_t> dilations,
                     int64_t groups) {
  return {{"pads", Attribute(std::move(pads))},
          {"strides", Attribute(std::move(strides))},
          {"dilations", Attribute(std::move(dilations))},
          {"group", Attribute(groups)}};
}

TEST(Int8Pairs, Convolutions) {
  const std::vector<Int8Case> cases = {
      {{2, 64, 14, 13}, {40, 64, 1, 1}},
      {{1, 24, 7, 7}, {96, 24, 1, 1}, windows({0, 0, 0, 0}, {2, 2}, {1, 1}, 1)},
      {{1, 17, 9, 3}, {33, 17, 3, 3}, windows({1, 0, 0, 1}, {1, 1}, {1, 1}, 1)},  // few windows
      {{1, 5, 9, 11}, {8, 5, 3, 3}, windows({4, 4, 4, 4}, {1, 2}, {2, 3}, 1)},
      {{2, 12, 9, 11}, {18, 4, 3, 3}, windows({1, 1, 1, 1}, {1, 1}, {1, 1}, 3)},
      {{1, 8, 5, 6}, {16, 1, 3, 3}, windows({1, 1, 1, 1}, {1, 1}, {1, 1}, 8)},  // two channels of one
      {{2, 3, 40}, {8, 3, 5}, windows({2, 2}, {1}, {2}, 1)},
      {{1, 3, 5, 6, 7}, {8, 3, 3, 3, 3}, windows({1, 1, 2, 0, 1, 2}, {1, 1, 1}, {1, 1, 2}, 1)},
      {{1, 4, 3, 3}, {8, 4, 5, 5}, windows({6, 6, 6, 6}, {1, 1}, {2, 2}, 1)}};  // windows beside the image
  for (const Int8Case& each : cases) {
    SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
    for (const ElementType type : {kU8, kS8}) {
      for (const double zero : {0.0, 77.0}) product(each, type, zero, 32).expect(kByConstants);
    }
  }
}

AttributeMap padded(int64_t pad) {
  return windows({pad, pad, pad, pad}, {1, 1}, {1, 1}, 1);
}

std::vector<Int8Case> cases_of_lines() {
  return {{{2, 3, 17, 19}, {20, 3, 3, 3}, windows({1, 1, 1, 1}, {2, 2}, {1, 1}, 1)},
          {{1, 17, 9, 11}, {33, 17, 3, 3}, windows({1, 0, 0, 1}, {1, 1}, {1, 1}, 1)},
          {{2, 1, 9, 11}, {16, 1, 5, 5}, padded(2)},  // a depth that is odd in each line
          {{1, 5, 9, 11}, {8, 5, 3, 1}, windows({4, 0, 4, 0}, {1, 2}, {2, 1}, 1)},
          {{1, 5, 12, 16}, {8, 5, 2, 2}, windows({0, 0, 0, 0}, {3, 3}, {1, 1}, 1)},  // lines that none reads
          {{2, 3, 40}, {8, 3, 5}, windows({2, 2}, {1}, {1}, 1)},
          {{2, 3, 5, 6, 7}, {8, 3, 3, 3, 3}, windows({1, 1, 1, 0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1)},
          {{1, 3, 9, 6, 7}, {8, 3, 3, 2, 3}, windows({2, 0, 1, 2, 1, 1}, {1, 1, 1}, {2, 2, 1}, 1)},
          {{1, 4, 3, 3}, {8, 4, 5, 5}, padded(6)},  // windows beside the image
          {{1, 7, 4, 301}, {40, 7, 3, 3}, padded(1)},
          {{1, 40, 50, 5}, {300, 40, 3, 3}, padded(1)}};  // several lines at a time
}

TEST(Int8Pairs, ConvolutionsOfLines) {
  for (const Int8Case& each : cases_of_lines()) {
    SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
    for (const ElementType type : {kU8, kS8}) {
      for (const double zero : {0.0, 77.0}) product(each, type, zero, 32).expect(kInLines);
    }
  }
  cpu::OneKernel kernel = product({{1, 64, 9, 9}, {8, 64, 3, 3}, padded(1)}, kS8, 127, 4096);
  std::memset(kernel.inputs[0].mutable_raw(), 0x80, kernel.inputs[0].byte_size());
  std::memset(kernel.inputs[3].mutable_raw(), 0x80, kernel.inputs[3].byte_size());
  kernel.expect(kInLines);
}

// Weights of which some neighbours have sums that the instruction would saturate.
void make_quads(cpu::OneKernel& kernel) {
  kernel.tactic = "int8-quads";
  auto weights = kernel.inputs[3].to_doubles();
  for (double& weight : weights) weight = std::floor(weight / 2);
  constexpr double kLarge[] = {127, -128, 127, 127, -128, -128, 127, 2, -128, -1, 64, 65, -64, -65};
  const size_t place = weights.size() / 2;
  std::copy_n(kLarge, std::min(std::size(kLarge), weights.size() - place), weights.begin() + place);
  kernel.inputs[3] = Tensor::from_doubles(kS8, kernel.inputs[3].dims(), weights);
}

TEST(Int8Quads, ConvolutionsOfLines) {
  for (const Int8Case& each : cases_of_lines()) {
    SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
    for (const ElementType type : {kU8, kS8}) {
      for (const double zero : {0.0, 77.0}) {
        cpu::OneKernel kernel = product(each, type, zero, 32);
        make_quads(kernel);
        kernel.expect("cpu:int8_quads:lines");
      }
    }
  }
}

// By channels-last: neighbours are two channels.
TEST(Int8Quads, AccumulatorsOfTheLargestInt8) {
  for (const int64_t first : {127, -128}) {
    for (const int64_t second : {127, 1, 0, -1, -128}) {
      SCOPED_TRACE(fmt::format("{} and {}", first, second));
      cpu::OneKernel kernel = product({{1, 64, 9, 9}, {8, 64, 3, 3}, padded(1)}, kU8, 0, 4096);
      kernel.tactic = "int8-quads";
      std::vector<double> weights(8 * 64 * 9, 3);
      for (size_t i = 0; i < weights.size(); i += 9 * 64) {  // of each column, two channels
        for (size_t tap = 0; tap < 9; ++tap) {
          weights[i + tap] = static_cast<double>(first);
          weights[i + 9 + tap] = static_cast<double>(second);
        }
      }
      kernel.inputs[3] = Tensor::from_doubles(kS8, {8, 64, 3, 3}, weights);
      std::memset(kernel.inputs[0].mutable_raw(), 0xFF, kernel.inputs[0].byte_size());
      kernel.expect("cpu:int8_quads:lines");
    }
  }
}

TEST(Int8Quads, IsOfferedWhereTheProcessorSumsNoFourProducts) {
  const Int8Case each{{1, 64, 9, 9}, {8, 64, 3, 3}, padded(1)};
  cpu::OneKernel kernel = product(each, kU8, 0, 32);
  kernel.tactic = "";
  const auto offered = kernel.tactics();
  EXPECT_EQ(std::count(offered.begin(), offered.end(), "int8-quads"),
            cpu::accumulates_int8_exactly() ? 0 : 1);
}

TEST(Int8Quads, RefusesWeightsThatItDoesNotSuit) {
  const auto refusal = [](double weight, int32_t zero_point) {
    const Tensor weights = Tensor::from_doubles(kS8, {64, 16}, std::vector<double>(64 * 16, weight));
    auto order = cpu::PairWeights::of_matrix(64, 16, false);
    order.zero_points = {zero_point};
    std::string reason;
    return cpu::QuadWeights::of(weights, order, reason) ? "" : reason;
  };
  EXPECT_EQ(refusal(64, 0), "");
  EXPECT_EQ(refusal(65, 0), "too many neighbours among the weights have large sums");
  EXPECT_EQ(refusal(65, 1), "");
  EXPECT_EQ(refusal(65, -63), "weights beyond int8, less their zero points");
  cpu::OneKernel kernel = product({{1, 64, 9, 9}, {8, 64, 3, 3}, padded(1)}, kU8, 0, 4096);
  kernel.tactic = "int8-quads";
  EXPECT_FALSE(kernel.run());  // weights at random
}

TEST(Int8Pairs, DepthwiseConvolutions) {
  for (const int64_t channels : {2, 15, 16, 33, 40, 64, 100}) {
    for (const int64_t kernel : {1, 3, 5}) {
      for (const int64_t stride : {1, 2}) {
        const int64_t pad = kernel / 2;
        const Int8Case each{{2, channels, 9, 11},
                            {channels, 1, kernel, kernel},
                            windows({pad, pad, pad, pad}, {stride, stride}, {1, 1}, channels)};
        SCOPED_TRACE(fmt::format("{} channels, {}, {}", channels, kernel, stride));
        product(each, kU8, 7, 16).expect(kDepthwise);
        product(each, kS8, -9, 16).expect(kDepthwise);
      }
    }
  }
  product({{1, 24, 9, 11}, {24, 1, 3, 3}, windows({2, 2, 2, 2}, {1, 1}, {2, 2}, 24)}, kU8, 3, 16)
      .expect(kDepthwise);
  product({{1, 24, 30}, {24, 1, 4}, windows({2, 1}, {1}, {1}, 24)}, kU8, 3, 16).expect(kDepthwise);
  product({{1, 6, 5, 6, 7}, {6, 1, 3, 3, 3}, windows({1, 1, 1, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 6)}, kS8, 3,
          16)
      .expect(kDepthwise);
}

TEST(Int8Pairs, MatricesThatAreNotKnown) {
  for (const ElementType b_type : {kU8, kS8}) {
    for (const double zero : {0.0, 9.0}) {
      batches({7, 20}, kU8, 77, {20, 33}, b_type, zero).expect(kBatches);
      batches({2, 3, 50, 33}, kS8, -7, {2, 3, 33, 17}, b_type, zero).expect(kBatches);
      batches({2, 1, 5, 64}, kU8, 0, {3, 64, 40}, b_type, zero).expect(kBatches);
    }
  }
}

TEST(Int8Pairs, WhatFollowsTheSums) {
  for (const bool depthwise : {false, true}) {
    for (int variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE(variant);
      Maker make;
      const Dims dims{1, 40, 9, 8};
      Value* x = make.dequantize(make.input(kU8, {1, 40, 9, 8}, 1), 0.125, 3, kU8);
      Value* y = make.node("Conv", {x, make.weights({40, depthwise ? 1 : 40, 3, 3}, 0, 2), make.bias(40)},
                           window({1, 1, 1, 1}, depthwise ? 40 : 1));
      if (variant == 0) y = make.node("Relu", {y});
      if (variant == 1) y = make.node("LeakyRelu", {y}, {{"alpha", Attribute(0.25F)}});
      if (variant >= 2) {
        y = make.dequantize(make.quantize(y, 16, 100, kU8), 16, 100, kU8);
        y = make.node("Add", {y, make.dequantize(make.input(kS8, dims, 3), 0.5, -9, kS8)});
        if (variant == 3) y = make.node("Relu", {y});
      }
      EXPECT_THAT(make.run(make.quantize(y, 8, 21, kU8), "qconv", kTactic),
                  ElementsAre(depthwise ? kDepthwise : kInLines));
    }
  }
}

TEST(Int8Pairs, ResultsMayStayReal) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {1, 4, 7, 9}, 1), 0.125, 3, kU8);
  Value* y = make.node("Conv", {x, make.weights({8, 4, 3, 3}, 0, 2), make.bias(8)});
  EXPECT_THAT(make.run(y, "qconv", kTactic), ElementsAre(kInLines));
}

}  // namespace
}  // namespace vernier
