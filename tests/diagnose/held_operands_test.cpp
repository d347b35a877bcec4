// Operands that an engine holds in few bits, each alone or together, with scales of any reach; and twins that
// look like it.
#include <gtest/gtest.h>

#include "diagnose/precision_flags.h"
#include "vernier/diagnose/hypotheses/precision/codes.h"

namespace vernier {
namespace {

const char* const kGemm = R"(graph "g" (%x: f32[12, 64], %w: f32[64, 16], %b: f32[16]) -> (%y) {
  %y: f32[*] = Gemm(%x, %w, %b) version 13 @"product" from ["product"] })";

PlantedGraph gemm(Tensor x = drawn({12, 64}, 1), Tensor w = drawn({64, 16}, 2), Tensor b = drawn({16}, 3)) {
  return {kGemm, {{"x", std::move(x)}, {"w", std::move(w)}, {"b", std::move(b)}}, {"w", "b"}};
}

// Gives what the node makes of other operands.
Tensor made_of(const PlantedGraph& graph, const std::map<std::string, Tensor>& others) {
  const auto held = [&](const std::string& name) {
    const auto found = others.find(name);
    return found == others.end() ? graph.value(name) : found->second;
  };
  return gemm(held("x"), held("w"), held("b")).value("y");
}

std::string cause_of(const PlantedGraph& graph, const Tensor& made) {
  const auto found = graph.diagnosed("product", made);
  return found.cause ? found.cause->failure.code() + ": " + found.cause->what : "unexplained";
}

TEST(HeldOperands, WeightsAloneInBfloat16OrFloat8) {
  const auto graph = gemm();
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"w", rounded(graph.value("w"), NarrowFormat::bfloat16())}})),
            "B15: its weights are held in bfloat16");
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"w", rounded(graph.value("w"), NarrowFormat::float8e5m2())}})),
            "B15: its weights are held in float8 (e5m2)");
}

TEST(HeldOperands, ActivationsOrBiasAlone) {
  const auto graph = gemm();
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"x", rounded(graph.value("x"), NarrowFormat::bfloat16())}})),
            "B15: its activations are held in bfloat16");
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"b", rounded(graph.value("b"), NarrowFormat::bfloat16())}})),
            "B15: its bias is held in bfloat16");
}

// With codes of every kind, and every reach of their scales.
TEST(HeldOperands, WeightsInCodes) {
  const auto graph = gemm();
  struct Case {
    Codes codes;
    ScaleReach reach;
    const char* text;
  };
  for (const Case& each :
       {Case{Codes::integers(8), {}, "held in int8 with one scale"},
        Case{Codes::integers(8), {1, 0}, "held in int8 with a scale for each index of axis 1"},
        Case{Codes::integers(4), {0, 32}, "held in int4 with a scale for each 32 numbers along axis 0"},
        Case{Codes::unsigned_integers(8), {0, 0}, "held in uint8 with a scale for each index of axis 0"},
        Case{Codes::float4(), {1, 0}, "held in float4 (e2m1) with a scale for each index of axis 1"}}) {
    const Tensor made = made_of(graph, {{"w", in_codes(graph.value("w"), each.codes, each.reach)}});
    EXPECT_EQ(cause_of(graph, made), std::string("B15: its weights are ") + each.text);
  }
}

// As kernels do that quantize activations by rows or blocks when they run.
TEST(HeldOperands, ActivationsInBlocks) {
  const auto graph = gemm();
  const Tensor x = in_codes(graph.value("x"), Codes::integers(8), {1, 32});
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"x", x}})),
            "B15: its activations are held in int8 with a scale for each 32 numbers along axis 1");
}

TEST(HeldOperands, ActivationsAndWeightsInCodes) {
  const auto graph = gemm();
  const Tensor x = in_codes(graph.value("x"), Codes::integers(8), {}),
               w = in_codes(graph.value("w"), Codes::integers(8), {1, 0});
  EXPECT_EQ(cause_of(graph, made_of(graph, {{"x", x}, {"w", w}})),
            "B15: its activations are held in int8 with one scale, and its weights are held in int8 with a "
            "scale for "
            "each index of axis 1");
}

// Who converts the constants of a node converts its bias, too, which alone makes little of the error.
TEST(HeldOperands, WeightsAndBiasInCodes) {
  const auto graph = gemm();
  const Tensor w = in_codes(graph.value("w"), Codes::float4(), {1, 0}),
               b = in_codes(graph.value("b"), Codes::float4(), {});
  EXPECT_EQ(
      cause_of(graph, made_of(graph, {{"w", w}, {"b", b}})),
      "B15: its weights are held in float4 (e2m1) with a scale for each index of axis 1, and its bias is "
      "held in float4 (e2m1) with one scale");
}

// One scale for channels of which some are hundreds of times as small.
TEST(HeldOperands, OneScaleForChannelsOfDifferentRange) {
  auto values = drawn({64, 16}, 2).to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= i < 32 * 16 ? 1 : 1e-3;
  const auto graph = gemm(drawn({12, 64}, 1), real_tensor({64, 16}, values));
  const Tensor made = made_of(graph, {{"w", in_codes(graph.value("w"), Codes::integers(8), {})}});
  EXPECT_EQ(graph.failure("product", made), "B24");
}

// Some channels of them.
TEST(HeldOperands, WeightsOfSomeChannels) {
  const auto graph = gemm();
  auto values = graph.value("w").to_doubles();
  const auto held = in_codes(graph.value("w"), Codes::integers(4), {1, 0}).to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 16 >= 12 ? held[i] : values[i];
  const auto found = cause_of(graph, made_of(graph, {{"w", real_tensor({64, 16}, values)}}));
  EXPECT_EQ(found,
            "B15: its weights are held in int4 with a scale for each index of axis 1, in the last 4 of 16 "
            "places along axis 1");
}

// Noise as large as that of codes is none of them.
TEST(HeldOperands, NotOfNoise) {
  const auto graph = gemm();
  auto values = graph.value("y").to_doubles();
  const auto noise = drawn({12, 16}, 9, 0, 0.05).to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] += noise[i];
  const auto found = cause_of(graph, real_tensor({12, 16}, values));
  EXPECT_EQ(found.find("held in"), std::string::npos) << found;
}

}  // namespace
}  // namespace vernier
