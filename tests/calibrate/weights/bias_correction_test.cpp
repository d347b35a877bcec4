// Rounding that moves the mean of what a layer sums up, and rounding that does not.
#include <gmock/gmock.h>

#include "calibrate/weights/layers.h"
#include "vernier/calibrate/weights/equalise_layers.h"

namespace vernier {
namespace {

constexpr const char* kConv = R"(graph "g" (%x: f32[1, 4, 6, 6]) -> (%y) {
  const %w = f32[4, 2, 3, 3] ?
  %y: f32[*] = Conv(%x, %w) {group = 2} version 22 @"conv" from ["conv"]
})";

// Weights that lie as far above codes all over, but for the first, which gives each row its scale, 1.
Tensor weights_above_codes(float distance) {
  std::vector<float> weights(4 * 18);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 11) + distance;
  for (size_t row = 0; row < 4; ++row) weights[18 * row] = 127;
  return Tensor::from<float>(ElementType::kFloat, {4, 2, 3, 3}, weights);
}

// Far from zero, as behind ReLU.
std::vector<NamedData> positive_samples() {
  std::vector<NamedData> samples;
  for (uint32_t i = 0; i < 60; ++i) samples.push_back({{"x", random_tensor({1, 4, 6, 6}, i, 2, 3)}});
  return samples;
}

AdaptedModel corrected(float distance) {
  AdaptOptions options;
  options.correct_bias = true;
  return adapted(with_constants(kConv, {{"w", weights_above_codes(distance)}}), positive_samples(), options);
}

TEST(BiasCorrection, TakesUpWhatRoundingMoves) {
  const AdaptedModel result = corrected(0.4F);
  EXPECT_EQ(result.corrected, 1u);
  EXPECT_NEAR(result.largest_change, 17 * 0.4 * 2.5, 1);  // weights × distance × mean input
  EXPECT_LT(*result.error_after, *result.error_before / 4);
}

TEST(BiasCorrection, ChangesNothingWhereTheMeanStays) {
  const AdaptedModel result = corrected(0);
  EXPECT_LT(result.largest_change, 0.1);  // what rounding the inputs leaves, of sums of about 300
  EXPECT_LT(*result.error_after, 1.1 * *result.error_before);
}

TEST(BiasCorrection, WhereThereIsNoPlaceForABias) {
  Model model = with_constants(R"(graph "g" (%x: f32[N, 4]) -> (%y) {
    const %w = f32[4, 4] ?
    %y: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
  })",
                               {{"w", random_tensor({4, 4}, 1)}});
  auto layers = layers_of(*model.graph);
  InputPatches patches(layers.at(0));
  patches.add(random_tensor({8, 4}, 2), 1);
  const LayerWeights exact = layers[0];
  EXPECT_FALSE(correct_bias(exact, layers[0], patches, std::nullopt));
}

}  // namespace
}  // namespace vernier
