// Layers whose nearest codes are not the best, and those whose are.
#include "vernier/calibrate/weights/learned_rounding.h"

#include <gmock/gmock.h>

#include "calibrate/weights/layers.h"
#include "vernier/base/hash.h"
#include "vernier/precision/quantized_weights.h"

namespace vernier {
namespace {

constexpr size_t kDepth = 64;

// One output; the first weight gives the scale, 1.
Model row_model(const std::vector<float>& weights) {
  return with_constants(R"(graph "g" (%x: f32[N, 64]) -> (%y) {
    const %w = f32[64, 1] ?
    const %b = f32[1] ?
    %p: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %y: f32[*] = Add(%p, %b) version 14 @"sum" from ["sum"]
  })",
                        {{"w", Tensor::from<float>(ElementType::kFloat, {64, 1}, weights)}});
}

// All weights lie as far above a code: the nearest codes err in the same direction.
std::vector<float> biased_weights() {
  std::vector<float> weights(kDepth);
  for (size_t k = 0; k < kDepth; ++k) weights[k] = static_cast<float>(k % 40) + 0.4F;
  weights[0] = 127;
  return weights;
}

std::vector<float> weights_on_codes() {
  std::vector<float> weights(kDepth);
  for (size_t k = 0; k < kDepth; ++k) weights[k] = static_cast<float>(k) - 20;
  weights[0] = 127;
  return weights;
}

// Inputs that go up and down together.
Tensor related_rows(uint32_t seed) {
  auto values = random_values(16 * kDepth, seed, -0.1F, 0.1F);
  const auto common = random_values(16, seed + 1000, 0, 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] += common[i / kDepth];
  return Tensor::from<float>(ElementType::kFloat, {16, kDepth}, values);
}

struct Learnt {
  explicit Learnt(const std::vector<float>& weights, uint32_t samples = 40) : model(row_model(weights)) {
    auto layers = layers_of(*model.graph);
    InputPatches patches(layers.at(0));
    for (uint32_t i = 0; i < samples; ++i) patches.add(related_rows(i), i);
    layer = layers.at(0);
    result = learn_rounding(layer, patches, std::nullopt, false);
  }
  Model model;
  LayerWeights layer;
  RoundingResult result;
};

TEST(LearnedRounding, ErrorsOfRelatedInputsCancel) {
  const Learnt learnt(biased_weights());
  EXPECT_GT(learnt.result.flipped, kDepth / 4);
  EXPECT_LT(learnt.result.learnt, learnt.result.nearest / 20);
}

TEST(LearnedRounding, TheSameCodesFollowFromTheWeights) {
  Learnt learnt(biased_weights());
  store_weights(learnt.layer);
  const Tensor stored = *learnt.layer.node->input(1)->constant;
  const auto codes = quantize_weights(stored, 1);
  const auto values = codes.values.to_doubles(), weights = stored.to_doubles();
  const double scale = codes.scales.to_doubles()[0];
  for (size_t k = 0; k < kDepth; ++k) EXPECT_NEAR(values[k] * scale, weights[k], 1e-4) << k;
}

TEST(LearnedRounding, WeightsThatAreCodesStay) {
  const Learnt learnt(weights_on_codes());
  EXPECT_EQ(learnt.result.flipped, 0u);
  const auto weights = weights_on_codes();
  for (size_t k = 0; k < kDepth; ++k) EXPECT_EQ(learnt.layer.rows[k], static_cast<double>(weights[k]));
}

TEST(LearnedRounding, NothingIsLearntFromNothing) {
  const auto weights = biased_weights();
  const Learnt learnt(weights, 0);
  EXPECT_EQ(learnt.result.flipped, 0u);
  for (size_t k = 0; k < kDepth; ++k) EXPECT_EQ(learnt.layer.rows[k], static_cast<double>(weights[k]));
}

TEST(LearnedRounding, TheOutputsOfInt8GetBetter) {
  const Model model = row_model(biased_weights());
  std::vector<NamedData> samples;
  for (uint32_t i = 0; i < 40; ++i) samples.push_back({{"x", related_rows(i)}});
  AdaptOptions options;
  options.learn_rounding = true;
  const auto result = adapted(model, samples, options);
  ASSERT_EQ(result.rounded.size(), 1u);
  EXPECT_LT(*result.error_after, *result.error_before / 2);
}

TEST(InputPatches, WhichAreKeptDependsOnContentAlone) {
  Model model = row_model(biased_weights());
  const auto layers = layers_of(*model.graph);
  InputPatches forward(layers.at(0)), backward(layers.at(0));
  for (uint32_t i = 0; i < 90; ++i) forward.add(related_rows(i), hash_combine(1, i));
  for (uint32_t i = 90; i-- > 0;) backward.add(related_rows(i), hash_combine(1, i));
  EXPECT_EQ(forward.count(), InputPatches::kMost);
  EXPECT_EQ(forward.group(0), backward.group(0));
}

}  // namespace
}  // namespace vernier
