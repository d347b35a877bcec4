// Padding that is multiplied with weights which are not all finite.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

constexpr const char *kInfinite = "0000803f0000807f00000040", *kNan = "0000803f0000c07f00000040",
                     *kFinite = "0000803f0000404000000040";

Model convolution(const std::string& weights, const std::string& attributes) {
  return parse_graph(R"(graph "g" (%x: f32[1, 1, 2, 5]) -> (%y) {
    const %w = f32[1, 1, 1, 3] hex")" +
                     weights + R"("
    %y: f32[*] = Conv(%x, %w) {)" +
                     attributes + R"(} version 11 @"y" from ["y"]
  })");
}

TEST(PadExplicitly, WeightsThatAreNotFinite) {
  for (const auto* weights : {kInfinite, kNan}) {
    const std::string constant = std::string("const %w = f32[1, 1, 1, 3] hex\"") + weights + "\"\n";
    expect_pass({pad_explicitly()}, convolution(weights, "pads = ints[1, 0, 2, 1], strides = ints[1, 2]"),
                R"(graph "g" (%x: f32[1, 1, 2, 5]) -> (%y) {
      )" + constant +
                    R"(
      const %y/pads = i64[8] hex"00000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000002000000000000000100000000000000"
      %y/padded: f32[1, 1, 5, 6] = Pad(%x, %y/pads) version 13 @"y/padded" from ["y"]
      %y: f32[1, 1, 5, 2] = Conv(%y/padded, %w) {strides = ints[1, 2]} version 11 @"y" from ["y"]
    })");
    expect_pass({pad_explicitly()}, convolution(weights, "auto_pad = \"SAME_LOWER\", strides = ints[1, 2]"),
                R"(graph "g" (%x: f32[1, 1, 2, 5]) -> (%y) {
      )" + constant +
                    R"(
      const %y/pads = i64[8] hex"00000000000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000000000000100000000000000"
      %y/padded: f32[1, 1, 2, 7] = Pad(%x, %y/pads) version 13 @"y/padded" from ["y"]
      %y: f32[1, 1, 2, 3] = Conv(%y/padded, %w) {strides = ints[1, 2]} version 11 @"y" from ["y"]
    })");
  }
}

TEST(PadExplicitly, WeightsThatOnlyRunningTells) {
  expect_pass({pad_explicitly()}, parse_graph(R"(graph "g" (%x: f32[n, 1, 5], %w: f32[1, 1, 3]) -> (%y) {
    %y: f32[*] = Conv(%x, %w) {pads = ints[1, 0]} version 11 @"y" from ["y"]
  })"),
              R"(graph "g" (%x: f32[n, 1, 5], %w: f32[1, 1, 3]) -> (%y) {
    const %y/pads = i64[6] hex"000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000"
    %y/padded: f32[n, 1, 6] = Pad(%x, %y/pads) version 13 @"y/padded" from ["y"]
    %y: f32[n, 1, 4] = Conv(%y/padded, %w) version 11 @"y" from ["y"]
  })");
}

// With SAME padding and every window counted it does not follow from the sizes.
TEST(PadExplicitly, SizesThatOnlyRunningTells) {
  expect_pass({pad_explicitly()}, parse_graph(R"(graph "g" (%x: f32[n, 1, m], %w: f32[1, 1, 4]) -> (%y) {
    %y: f32[*] = Conv(%x, %w) {auto_pad = "SAME_UPPER"} version 11 @"y" from ["y"]
  })"),
              R"(graph "g" (%x: f32[n, 1, m], %w: f32[1, 1, 4]) -> (%y) {
    const %y/pads = i64[6] hex"000000000000000000000000000000000100000000000000000000000000000000000000000000000200000000000000"
    %y/padded: f32[n, 1, m + 3] = Pad(%x, %y/pads) version 13 @"y/padded" from ["y"]
    %y: f32[n, 1, m] = Conv(%y/padded, %w) version 11 @"y" from ["y"]
  })");
  expect_unchanged({pad_explicitly()}, parse_graph(R"(graph "g" (%x: f32[n, 1, m], %w: f32[1, 1, 4]) -> (%y) {
    %y: f32[*] = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = ints[2]} version 11 @"y" from ["y"]
  })"));
}

TEST(PadExplicitly, OthersStay) {
  expect_unchanged({pad_explicitly()}, convolution(kFinite, "pads = ints[1, 0, 2, 1]"));
  expect_unchanged({pad_explicitly()}, convolution(kInfinite, "pads = ints[0, 0, 0, 0]"));
  expect_unchanged({pad_explicitly()}, convolution(kInfinite, "auto_pad = \"VALID\""));
  expect_unchanged({pad_explicitly()}, convolution(kInfinite, "strides = ints[1, 2]"));
  // An empty image has no window; with its padding it would have some, or one that does not fit.
  expect_unchanged({pad_explicitly()}, parse_graph(R"(graph "g" (%x: f32[1, 1, 0], %w: f32[1, 1, 3]) -> (%y) {
    %y: f32[1, 1, 0] = Conv(%x, %w) {pads = ints[1, 1]} version 11 @"c" from ["c"]
  })"));
}

}  // namespace
}  // namespace vernier
