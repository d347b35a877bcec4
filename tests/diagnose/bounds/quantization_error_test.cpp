// How far quantizing by a plan moves values: by part of a step, and not by what a scale does wrong.
#include "vernier/diagnose/bounds/quantization_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "diagnose/planted.h"
#include "vernier/backends/reference/interpreter.h"

namespace vernier {
namespace {

// x by codes of this scale, which is given as hex, and back.
Model quantized(const std::string& type, const std::string& scale, const std::string& zero) {
  return parse_graph(R"(graph "g" (%x: f32[4, 256]) -> (%y) {
    const %s = f32[] hex")" +
                     scale + R"("
    const %z = )" + type +
                     R"([] hex")" + zero + R"("
    %q: )" + type + R"([*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"y" from ["y"] })");
}

const char* const kHundredth = "0ad7233c";
const char* const kTenth = "cdcccc3d";

Tensor ramp(double least, double most) {
  std::vector<double> values(1024);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = least + (most - least) * static_cast<double>(i) / 1023;
  return Tensor::from_doubles(ElementType::kFloat, {4, 256}, values);
}

// Root mean square of what the noise adds to the output.
double noise_of(const Graph& graph, const Tensor& x) {
  const NamedData inputs{{"x", x}};
  const auto quiet = reference_outputs(graph, inputs).at("y").tensor.to_doubles(),
             moved = run_with_quantization_noise(graph, inputs, 7).at("y").tensor.to_doubles();
  double squares = 0;
  for (size_t i = 0; i < quiet.size(); ++i) squares += (moved[i] - quiet[i]) * (moved[i] - quiet[i]);
  return std::sqrt(squares / static_cast<double>(quiet.size()));
}

const double kRms = 1 / std::sqrt(12.0);  // of what is uniform within a step

TEST(QuantizationError, IsUniformWithinAStep) {
  EXPECT_NEAR(noise_of(*quantized("u8", kHundredth, "00").graph, ramp(0.1, 2.55)), 0.01 * kRms, 0.0005);
  EXPECT_NEAR(noise_of(*quantized("i8", kHundredth, "00").graph, ramp(-1.27, 1.27)), 0.01 * kRms, 0.0005);
}

TEST(QuantizationError, OfAScaleThatIsTooCoarseIsThatOfTheOneThatWouldDo) {
  const Model coarse = quantized("u8", kTenth, "00");
  const Tensor x = ramp(0.1, 2.55);
  EXPECT_NEAR(noise_of(*coarse.graph, x), 0.01 * kRms, 0.0005);
  EXPECT_NEAR(noise_of(*with_needed_scales(*coarse.graph, {{"x", x}}), x), 0.01 * kRms, 0.0005);
}

// Rounding to codes is part of what comes before: what is coarse rounds the noise, too.
TEST(QuantizationError, ScalesBecomeThoseThatAreNeeded) {
  const auto scale_of = [](const Graph& graph) {
    return graph.nodes()[0]->input(1)->constant->to_doubles().at(0);
  };
  const auto needed = [&](const Model& model, double least, double most) {
    return scale_of(*with_needed_scales(*model.graph, {{"x", ramp(least, most)}}));
  };
  EXPECT_NEAR(needed(quantized("u8", kTenth, "00"), 0, 2.55), 0.01, 1e-6);
  EXPECT_NEAR(needed(quantized("u8", kTenth, "80"), -1.28, 0.1), 0.01, 1e-6);
  EXPECT_NEAR(needed(quantized("i8", kTenth, "00"), -1.27, 1), 0.01, 1e-4);
  EXPECT_NEAR(needed(quantized("u8", kHundredth, "00"), 0, 255), 0.01, 1e-6);  // no wider than it is
}

TEST(QuantizationError, OfAScaleThatClipsIsThatOfItsSteps) {
  EXPECT_NEAR(noise_of(*quantized("u8", kHundredth, "00").graph, ramp(0.1, 255)), 0.01 * kRms, 0.0005);
}

TEST(QuantizationError, LeavesZerosAlone) {
  EXPECT_EQ(noise_of(*quantized("u8", kHundredth, "00").graph, ramp(-3, 0)), 0);
}

TEST(QuantizationError, EachChannelOfWeightsHasAStepOfItsOwn) {
  // Two channels of codes up to 127 and up to 1, by scales of 0.01 and 1: the second needs 1/127.
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 1]) -> (%y) {
    const %s = f32[2] hex"0ad7233c0000803f"
    const %w = i8[2, 4] hex"7f7f817f01ff0101"
    %d: f32[*] = DequantizeLinear(%w, %s) {axis = 0} version 13 @"d" from ["d"]
    %y: f32[*] = Mul(%d, %x) version 14 @"y" from ["y"] })");
  const NamedData inputs{{"x", Tensor::from_doubles(ElementType::kFloat, {2, 1}, std::array{1.0, 1.0})}};
  const auto quiet = reference_outputs(*model.graph, inputs).at("y").tensor.to_doubles();
  double most = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto moved = run_with_quantization_noise(*model.graph, inputs, seed).at("y").tensor.to_doubles();
    for (size_t i = 0; i < 4; ++i) EXPECT_LE(std::abs(moved[i] - quiet[i]), 0.00501);
    for (size_t i = 4; i < 8; ++i) most = std::max(most, std::abs(moved[i] - quiet[i]));
  }
  EXPECT_GT(most, 0.4 / 127);
  EXPECT_LE(most, 0.501 / 127);
}

}  // namespace
}  // namespace vernier
