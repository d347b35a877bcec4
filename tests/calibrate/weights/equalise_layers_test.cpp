// Channels whose weights differ by powers between two layers, and what leaves the float model as it was.
#include "vernier/calibrate/weights/equalise_layers.h"

#include <gmock/gmock.h>

#include "calibrate/weights/layers.h"

namespace vernier {
namespace {

// Channel c of the first layer is 4^c times as large as it should be, and is read by weights as much smaller.
struct UnequalChannels {
  static constexpr size_t kChannels = 6, kIn = 4, kOut = 3;

  explicit UnequalChannels(const std::string& between) {
    auto first = random_values(kChannels * kIn, 1), second = random_values(kOut * kChannels, 2),
         bias = random_values(kChannels, 3);
    for (size_t c = 0; c < kChannels; ++c) {
      const float scale = std::pow(4.0F, static_cast<float>(c));
      for (size_t i = 0; i < kIn; ++i) first[c * kIn + i] *= scale;
      bias[c] *= scale;
      for (size_t o = 0; o < kOut; ++o) second[o * kChannels + c] /= scale;
    }
    model = with_constants(R"(graph "g" (%x: f32[1, 4, 5, 5]) -> (%y) {
      const %w = f32[6, 4, 1, 1] ?
      const %b = f32[6] ?
      const %v = f32[3, 6, 1, 1] ?
      %a: f32[*] = Conv(%x, %w, %b) version 22 @"first" from ["first"]
      )" + between + R"(
      %y: f32[*] = Conv(%r, %v) version 22 @"second" from ["second"]
    })",
                           {{"w", Tensor::from<float>(ElementType::kFloat, {6, 4, 1, 1}, first)},
                            {"b", Tensor::from<float>(ElementType::kFloat, {6}, bias)},
                            {"v", Tensor::from<float>(ElementType::kFloat, {3, 6, 1, 1}, second)}});
    for (uint32_t i = 0; i < 12; ++i) samples.push_back({{"x", random_tensor({1, 4, 5, 5}, 100 + i)}});
  }

  Model model;
  std::vector<NamedData> samples;
};

constexpr const char* kRelu = R"(%r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"])";

TEST(EqualiseLayers, TheFloatModelStays) {
  const UnequalChannels unequal(kRelu);
  Model equal = clone(unequal.model);
  EXPECT_EQ(equalise_layers(*equal.graph), 1u);
  const auto before = floats_of(unequal.model, unequal.samples[0]),
             after = floats_of(equal, unequal.samples[0]);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-5) << i;
}

TEST(EqualiseLayers, Int8LosesLess) {
  const UnequalChannels unequal(kRelu);
  AdaptOptions options;
  options.equalise = true;
  const auto result = adapted(unequal.model, unequal.samples, options);
  EXPECT_EQ(result.equalised, 1u);
  ASSERT_TRUE(result.error_before && result.error_after);
  EXPECT_LT(*result.error_after, *result.error_before / 4);
}

TEST(EqualiseLayers, OnlyHomogeneousOperatorsMayLieBetween) {
  for (const char* between : {R"(%r: f32[*] = Sigmoid(%a) version 13 @"s" from ["s"])",
                              R"(%r: f32[*] = Elu(%a) version 22 @"e" from ["e"])"}) {
    const UnequalChannels unequal(between);
    Model same = clone(unequal.model);
    EXPECT_EQ(equalise_layers(*same.graph), 0u) << between;
    EXPECT_EQ(print(same), print(unequal.model)) << between;
  }
}

TEST(EqualiseLayers, WhatOthersReadStays) {
  const Model model = with_constants(R"(graph "g" (%x: f32[2, 4]) -> (%y, %a) {
    const %w = f32[4, 4] ?
    %a: f32[*] = MatMul(%x, %w) version 13 @"first" from ["first"]
    %y: f32[*] = MatMul(%a, %w) version 13 @"second" from ["second"]
  })",
                                     {{"w", random_tensor({4, 4}, 1)}});
  Model same = clone(model);
  EXPECT_EQ(equalise_layers(*same.graph), 0u);
}

// Depthwise layers, biases behind MatMul, and channels that Flatten lays side by side.
TEST(EqualiseLayers, ChainsOfAllKindsStayWhatTheyWere) {
  const Model model = with_constants(R"(graph "g" (%x: f32[1, 4, 6, 6]) -> (%y) {
    const %w = f32[8, 4, 1, 1] ?
    const %d = f32[8, 1, 3, 3] ?
    const %m = f32[32, 5] ?
    const %n = f32[5] ?
    const %o = f32[2, 5] ?
    const %p = f32[2] ?
    %a: f32[*] = Conv(%x, %w) version 22 @"a" from ["a"]
    %r: f32[*] = Relu(%a) version 14 @"r" from ["r"]
    %c: f32[*] = Conv(%r, %d) {group = 8} version 22 @"c" from ["c"]
    %q: f32[*] = MaxPool(%c) {kernel_shape = ints[2, 2], strides = ints[2, 2]} version 22 @"q" from ["q"]
    %f: f32[*] = Flatten(%q) version 24 @"f" from ["f"]
    %g: f32[*] = MatMul(%f, %m) version 13 @"g" from ["g"]
    %h: f32[*] = Add(%g, %n) version 14 @"h" from ["h"]
    %i: f32[*] = LeakyRelu(%h) version 16 @"i" from ["i"]
    %y: f32[*] = Gemm(%i, %o, %p) {transB = 1} version 13 @"y" from ["y"]
  })",
                                     {{"w", random_tensor({8, 4, 1, 1}, 1, -9, 9)},
                                      {"d", random_tensor({8, 1, 3, 3}, 2)},
                                      {"m", random_tensor({32, 5}, 3)},
                                      {"n", random_tensor({5}, 4)},
                                      {"o", random_tensor({2, 5}, 5, -5, 5)},
                                      {"p", random_tensor({2}, 6)}});
  Model equal = clone(model);
  EXPECT_EQ(equalise_layers(*equal.graph), 3u);
  const NamedData sample = {{"x", random_tensor({1, 4, 6, 6}, 7)}};
  const auto before = floats_of(model, sample), after = floats_of(equal, sample);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(before[i], after[i], 1e-5 * std::max(1.0, std::abs(before[i])));
}

}  // namespace
}  // namespace vernier
