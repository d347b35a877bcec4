// Products and convolutions on tiles of bfloat16: every shape of block and of image, and the terms of
// floats.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"

namespace vernier::cpu {
namespace {

Tensor noise(Dims dims, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Tensor result(ElementType::kFloat, std::move(dims));
  for (float& value : result.mutable_values<float>()) value = normal(random);
  return result;
}

// Gives the two or three terms of 40 floats, in a chunk and a quarter.
std::vector<std::vector<float>> terms_of(const std::vector<float>& floats, int terms) {
  std::vector<float> from(40);
  std::copy(floats.begin(), floats.end(), from.begin());
  std::vector<uint16_t> to(static_cast<size_t>(terms) * 64, 0xFFFF);
  split_pixels({from.data(), 40, 1, 40, to.data(), 32, 64, {terms, 32, 4}});
  std::vector<std::vector<float>> result(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t term = 0; term < static_cast<size_t>(terms); ++term)
      result[i].push_back(std::bit_cast<float>(static_cast<uint32_t>(to[term * 64 + i]) << 16));
  }
  for (size_t i = from.size(); i < 64; ++i) EXPECT_EQ(to[i], 0);
  return result;
}

TEST(Pieces, AddUpToTheFloat) {
  std::vector<float> floats{1.0F, -3.14159274F, 1e-30F, 65537.0F, 0.0F, 3.4e38F, -3.39e38F, 0x1.FFFFFEp0F};
  for (float x = 0.123F; floats.size() < 40; x *= -1.37F) floats.push_back(x);
  const auto two = terms_of(floats, 2), three = terms_of(floats, 3);
  for (size_t i = 0; i < floats.size(); ++i) {
    const float x = floats[i];
    EXPECT_NEAR(two[i][0] + two[i][1], x, std::abs(x) * (std::abs(x) > 3e38F ? 0x1p-15 : 0x1p-17)) << x;
    EXPECT_NEAR(static_cast<double>(three[i][0]) + three[i][1] + three[i][2], x, std::abs(x) * 0x1p-23) << x;
    EXPECT_NEAR(two[i][0], x, std::abs(x) * 0x1p-7);
  }
}

TEST(Pieces, InfinityAndNaNAreInTheFirst) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> floats{infinity, -infinity, std::bit_cast<float>(0x7F800001U),
                                  std::bit_cast<float>(0x7FFFFFFFU), std::bit_cast<float>(0xFFFFFFFFU)};
  const auto two = terms_of(floats, 2);
  EXPECT_EQ(two[0][0], infinity);
  EXPECT_EQ(two[1][0], -infinity);
  for (size_t i = 2; i < floats.size(); ++i) EXPECT_TRUE(std::isnan(two[i][0])) << i;
  for (size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(two[i][1], 0);
}

class Tiles : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { VERNIER_NEEDS(kAmx); }

  // The kernel by the tactic, of the tactic's type.
  static OneKernel by_tactic(OneKernel kernel) {
    kernel.tactic = GetParam();
    if (kernel.tactic != kOneTerm) return kernel;
    for (Tensor& input : kernel.inputs)
      input = Tensor::from_doubles(ElementType::kBFloat16, input.dims(), input.to_doubles());
    return kernel;
  }

  // Checks the relative L2 from the reference, with one thread and with several.
  static void expect(const OneKernel& floats) {
    const std::map<std::string, double> bounds{{kOneTerm, 1e-3}, {kTwoTerms, 2e-5}, {kThreeTerms, 6e-7}};
    const double bound = bounds.at(GetParam());
    OneKernel kernel = by_tactic(floats);
    const auto expected = kernel.node.run(kernel.inputs)[0].to_doubles();
    std::string name;
    std::optional<std::vector<Tensor>> first;
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      const auto outputs = kernel.run(&name);
      ASSERT_TRUE(outputs) << kernel.reason;
      EXPECT_EQ(name, std::string("cpu:tiles:") + GetParam());
      EXPECT_LT(distance(expected, (*outputs)[0].to_doubles()), bound);
      if (!first) first = outputs;
      EXPECT_TRUE((*first)[0].identical((*outputs)[0])) << "threads change the result";
    }
  }

  static double distance(const std::vector<double>& expected, const std::vector<double>& actual) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    return std::sqrt(difference / size);
  }
};

// As the processor does with what has no scope, the emulation does.
TEST(TileScope, MustBeThereForTiles) {
  VERNIER_NEEDS(kAmx);
  alignas(64) std::array<float, kBlockRows * kBlockColumns> sums;
  const std::vector<uint16_t> zeros(2 * kTileSize);
  const int64_t step = 0;
  const BlockProduct product{zeros.data(), 2 * kChunk, &step, 1, 0, zeros.data(), sums.data()};
  {
    const TileScope tiles;
    multiply_block({1}, product);
  }
  EXPECT_EQ(sums, decltype(sums){});
  EXPECT_DEATH(multiply_block({1}, product), "");
}

TEST_P(Tiles, RowsDepthsAndColumns) {
  for (const int64_t rows : {4, 7, 16, 17, 33, 100}) {
    for (const int64_t depth : {8, 31, 64, 200}) {
      for (const int64_t columns : {8, 16, 17, 32, 72}) {
        expect({{"MatMul", 13}, {noise({rows, depth}, 1), noise({depth, columns}, 2)}, {1}});
      }
    }
  }
  expect({{"MatMul", 13}, {noise({2, 3, 9, 40}, 1), noise({40, 48}, 2)}, {1}});
  expect({{"MatMul", 13}, {noise({2100, 64}, 1), noise({64, 16}, 2)}, {1}});  // several blocks
  expect({{"MatMul", 13}, {noise({1337, 1024}, 1), noise({1024, 16}, 2)}, {1}});
}

TEST_P(Tiles, GemmWithItsAttributes) {
  for (const int64_t transposed : {0, 1}) {
    const ops::OneNode gemm{"Gemm", 13, {{"transB", Attribute(transposed)}, {"alpha", Attribute(0.5F)}}};
    const auto x = noise({20, 40}, 1), w = noise(transposed == 1 ? Dims{24, 40} : Dims{40, 24}, 2);
    for (const Dims& c : {Dims{24}, Dims{1, 24}, Dims{20, 24}, Dims{1}})
      expect({gemm, {x, w, noise(c, 3)}, {1, 2}});
  }
}

struct Window {
  Dims x, w;
  std::vector<int64_t> strides, dilations, pads;
};

TEST_P(Tiles, Convolutions) {
  const std::vector<Window> windows = {
      {{1, 40, 7, 7}, {24, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{2, 32, 14, 14}, {32, 32, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 32, 15, 14}, {40, 32, 1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{2, 16, 15, 13}, {48, 16, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 16, 16, 16}, {16, 16, 7, 7}, {3, 2}, {1, 1}, {3, 3, 2, 2}},
      {{1, 16, 20, 19}, {16, 16, 3, 3}, {1, 1}, {2, 4}, {2, 4, 2, 4}},
      {{1, 16, 20, 19}, {16, 16, 3, 2}, {2, 3}, {3, 2}, {0, 1, 5, 0}},
      {{1, 16, 5, 5}, {16, 16, 5, 5}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
      {{3, 64, 40}, {64, 64, 5}, {1}, {1}, {2, 2}},
      {{1, 64, 200, 30}, {32, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // several blocks
      // Images of few channels: lines of windows that share rows of tiles, have some each, and are too long
      // for that.
      {{2, 3, 20, 21}, {40, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 3, 23, 20}, {24, 3, 7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
      {{1, 4, 20, 9}, {16, 4, 5, 3}, {1, 1}, {2, 1}, {5, 4, 3, 2}},
      {{1, 1, 300, 3}, {16, 1, 3, 5}, {1, 1}, {1, 1}, {1, 3, 1, 3}},
      {{1, 3, 20, 21}, {16, 3, 3, 3}, {1, 1}, {1, 2}, {1, 2, 1, 2}},
      {{1, 7, 20, 21}, {16, 7, 5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
      {{2, 3, 90}, {16, 3, 5}, {2}, {1}, {2, 2}},
  };
  for (const Window& each : windows) {
    const ops::OneNode conv{"Conv",
                            11,
                            {{"strides", Attribute(each.strides)},
                             {"dilations", Attribute(each.dilations)},
                             {"pads", Attribute(each.pads)}}};
    SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
    expect({conv, {noise(each.x, 1), noise(each.w, 2)}, {1}, Layout::kChannelsLast});
    expect(
        {conv, {noise(each.x, 1), noise(each.w, 2), noise({each.w[0]}, 3)}, {1, 2}, Layout::kChannelsLast});
  }
}

TEST_P(Tiles, AreOfferedForFewChannelsOfBfloat16) {
  OneKernel kernel{
      {"Conv", 11}, {noise({1, 3, 20, 20}, 1), noise({16, 3, 3, 3}, 2)}, {1}, Layout::kChannelsLast};
  EXPECT_TRUE(kernel.tactics().empty());
  for (Tensor& input : kernel.inputs)
    input = Tensor::from_doubles(ElementType::kBFloat16, input.dims(), input.to_doubles());
  EXPECT_EQ(kernel.tactics(), std::vector<std::string>{kOneTerm});
}

TEST_P(Tiles, WhatDoesNotFitIsRefused) {
  const auto refused = [](const OneKernel& kernel) {
    EXPECT_FALSE(by_tactic(kernel).run()) << kernel.node.op;
  };
  refused({{"MatMul", 13}, {noise({20, 40}, 1), noise({40, 24}, 2)}, {}});  // unknown weights
  refused({{"Gemm", 13, {{"transA", Attribute(int64_t{1})}}}, {noise({40, 20}, 1), noise({40, 24}, 2)}, {1}});
  refused({{"Conv", 11, {{"group", Attribute(int64_t{2})}}},
           {noise({1, 32, 8, 8}, 1), noise({32, 16, 3, 3}, 2)},
           {1},
           Layout::kChannelsLast});
  refused(
      {{"Conv", 11}, {noise({1, 16, 8, 8, 8}, 1), noise({16, 16, 3, 3, 3}, 2)}, {1}, Layout::kChannelsLast});
}

TEST_P(Tiles, InfinityAndNaNAreNotLost) {
  auto x = noise({32, 64}, 1);
  x.mutable_values<float>()[5] = std::nanf("");
  x.mutable_values<float>()[64 + 7] = std::numeric_limits<float>::infinity();
  const auto outputs = by_tactic({{"MatMul", 13}, {x, noise({64, 16}, 2)}, {1}}).run();
  ASSERT_TRUE(outputs);
  const auto y = (*outputs)[0].to_doubles();
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_FALSE(std::isfinite(y[16 + i]));
    EXPECT_TRUE(std::isfinite(y[32 + i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, Tiles, testing::Values(kOneTerm, kTwoTerms, kThreeTerms));

}  // namespace
}  // namespace vernier::cpu
