// Where weights are nearly zero and a bias is not, their scale leaves room for the bias in INT32.
#include "precision/typed_models.h"
#include "vernier/base/file.h"
#include "vernier/passes/quantization/quantization.h"
#include "vernier/precision/quantized_weights.h"

namespace vernier {
namespace {

// Two outputs: weights 1 and 2, and 5e-10 and 1e-9; a bias of 0.8.
std::string model(const std::string& nodes) {
  return R"(graph "g" (%x: f32[3, 2]) -> (%y) {
    const %w = f32[2, 2] hex"0000803f000000405f7009305f708930"
    const %v = f32[2, 2] hex"0000803f5f700930000000405f708930"
    const %b = f32[2] hex"cdcc4c3fcdcc4c3f"
    )" + nodes +
         "\n}";
}

std::vector<double> scales_of_weights(const std::string& nodes) {
  PrecisionOptions options;
  options.int8 = true;
  const TemporaryFolder folder;
  options.calibration = folder.path() / "scales.json";
  write_file(options.calibration, R"({"tensors": {"x": {"scale": 0.01, "type": "i8"}}})");
  const TypedModel typed = typed_model(parse(model(nodes)), options);
  for (const auto& node : typed.model.graph->nodes()) {
    const auto found = is_dequantize(node.get()) ? Quantization::of(node.get()) : std::nullopt;
    if (found && !found->is_uniform()) return found->scales;
  }
  return {};
}

// 0.8 / (0.01 * scale) is at most 2^30.
constexpr double kNeeded = 0.8 / (0.01 * 0x1p30);

void expect_room(const std::string& nodes) {
  const auto scales = scales_of_weights(nodes);
  ASSERT_EQ(scales.size(), 2) << nodes;
  EXPECT_NEAR(scales[0], 2.0 / 127, 1e-8);
  EXPECT_NEAR(scales[1] / kNeeded, 1, 1e-6) << nodes;
}

TEST(BiasScales, OfWhateverAddsABiasToAProduct) {
  expect_room(R"(%y: f32[*] = Gemm(%x, %w, %b) {transB = 1} version 13 @"y" from ["y"])");
  expect_room(R"(%p: f32[*] = MatMul(%x, %v) version 13 @"p" from ["p"]
    %y: f32[*] = Add(%b, %p) version 13 @"y" from ["y"])");
}

TEST(BiasScales, WithoutABiasTheWeightsDecide) {
  const auto scales = scales_of_weights(R"(%y: f32[*] = MatMul(%x, %v) version 13 @"y" from ["y"])");
  ASSERT_EQ(scales.size(), 2);
  EXPECT_LT(scales[1], 1e-10);
}

// alpha divides what the bias is of the sums, beta multiplies it.
TEST(BiasScales, AlphaAndBetaCount) {
  const auto scales = scales_of_weights(
      R"(%y: f32[*] = Gemm(%x, %w, %b) {transB = 1, alpha = float 0.5, beta = float 2} version 13 @"y" from ["y"])");
  ASSERT_EQ(scales.size(), 2);
  EXPECT_NEAR(scales[1] / kNeeded, 4, 1e-5);
}

}  // namespace
}  // namespace vernier
