// Convolutions whose windows lie side by side, as products.
#include "passes/expect_pass.h"
#include "vernier/ops/tf32.h"

namespace vernier {
namespace {

// A convolution of 3 filters, and what reads its pixels.
Model convolution(const std::string& attributes, const std::string& reader, const std::string& bias = "") {
  return parse_graph(R"(graph "g" (%x: f32[2, 1, 4, 6]) -> (%y) {
    const %w = f32[3, 1, 2, 3] hex"0000803f000000400000404000008040cdcc4c3e0000c03f0000803f0000803e0000404000008040cdcc4c3e0000c03f0000803f000000400000003f00008040cdcc4c3e0000c03f"
    const %b = f32[3] hex"0000803f0000004000004040"
    const %row = i64[3] hex"020000000000000003000000000000000400000000000000"
    %c: f32[*] = Conv(%x, %w)" +
                     bias + ") {" + attributes + R"(} version 11 @"c" from ["c"]
    )" + reader + R"(
  })");
}

constexpr const char *kTiled = "strides = ints[2, 3]",
                     *kRows = R"(%r: f32[*] = Reshape(%c, %row) version 14 @"r" from ["r"]
    %t: f32[*] = Transpose(%r) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
    %y: f32[*] = Relu(%t) version 14 @"y" from ["y"])",
                     *kImage =
                         R"(%t: f32[*] = Transpose(%c) {perm = ints[0, 2, 3, 1]} version 13 @"t" from ["t"]
    %y: f32[*] = Relu(%t) version 14 @"y" from ["y"])";

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> all;
  for (const auto& node : model.graph->nodes()) all.push_back(node->op);
  return all;
}

// Checks what is left when views and pairs of Transposes are gone.
void expect_product(const Model& before, const std::vector<std::string>& expected) {
  const PassCase with{unfold_patches(),
                      {},
                      {fold_constants(), remove_views(), merge_transposes(), remove_views(),
                       remove_identities(), remove_dead_code()}};
  Model prepared, after;
  EXPECT_EQ(run_case(with, before, prepared, after), 1);
  EXPECT_EQ(operators(after), expected);
  expect_sound(*prepared.graph, *after.graph);
  EXPECT_LE(distance(prepared, after, {}), 1e-6);
}

TEST(UnfoldPatches, PixelsThatAreReadAsRows) {
  expect_product(convolution(kTiled, kRows), {"Reshape", "Transpose", "Reshape", "Gemm", "Reshape", "Relu"});
  expect_product(convolution(kTiled, kRows, ", %b"),
                 {"Reshape", "Transpose", "Reshape", "Gemm", "Reshape", "Relu"});
}

TEST(UnfoldPatches, WhatMayRoundToTf32MayDoSoAsAProduct) {
  for (const bool may : {false, true}) {
    Model prepared, after;
    ASSERT_EQ(run_case({unfold_patches()},
                       convolution(may ? "strides = ints[2, 3], tf32 = 1" : kTiled, kRows), prepared, after),
              1);
    for (const auto& node : after.graph->nodes()) {
      EXPECT_EQ(ops::may_round_to_tf32(*node), may && node->op == "Gemm");
    }
  }
}

TEST(UnfoldPatches, PixelsThatAreReadAsAnImageWithChannelsLast) {
  expect_product(convolution(kTiled, kImage, ", %b"),
                 {"Reshape", "Transpose", "Reshape", "Gemm", "Reshape", "Relu"});
}

TEST(UnfoldPatches, WindowsWithGapsOrOverlapsStay) {
  const PassCase with{unfold_patches()};
  for (const char* attributes :
       {"strides = ints[2, 2]", "strides = ints[1, 3]", "strides = ints[2, 3], pads = ints[0, 0, 2, 0]",
        "strides = ints[2, 3], dilations = ints[2, 1]"})
    expect_unchanged(with, convolution(attributes, kImage));
}

TEST(UnfoldPatches, PixelsThatAreReadAsTheyLieStay) {
  const PassCase with{unfold_patches()};
  expect_unchanged(with, convolution(kTiled, R"(%y: f32[*] = Relu(%c) version 14 @"y" from ["y"])"));
  expect_unchanged(with, convolution(kTiled, R"(%y: f32[*] = Reshape(%c, %row) version 14 @"y" from ["y"])"));
}

}  // namespace
}  // namespace vernier
