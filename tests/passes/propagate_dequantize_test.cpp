// DequantizeLinear moves behind what moves elements only: integers are moved instead.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

std::string dequantized(const std::string& nodes) {
  return R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
    const %s = f32[] hex"cdcccc3d"
    const %t = f32[] hex"0000003e"
    const %z = u8[] hex"80"
    const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
    const %zero = f32[] hex"00000000"
    const %one = f32[] hex"0000803f"
    %d: f32[*] = DequantizeLinear(%x, %s, %z) version 21 @"d" from ["d"]
    )" + nodes +
         "\n}";
}

const PassCase kPropagate{propagate_dequantize(), {}, {remove_dead_code()}};

TEST(PropagateDequantize, MovesIntegersInstead) {
  const std::string moved = R"(%p: f32[*] = MaxPool(%d) {kernel_shape = ints[2, 2]} version 12 @"p" from ["p"]
    %m: f32[*] = Transpose(%p) {perm = ints[0, 2, 3, 1]} version 21 @"m" from ["m"]
    )";
  expect_pass(kPropagate,
              dequantized(moved + R"(%q: u8[*] = QuantizeLinear(%m, %s, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
              R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      %p/quantized: u8[2, 3, 3, 3] = MaxPool(%x) {kernel_shape = ints[2, 2]} version 12 @"p" from ["d", "p"]
      %m/quantized: u8[2, 3, 3, 3] = Transpose(%p/quantized) {perm = ints[0, 2, 3, 1]} version 21 @"m" from ["m", "q"]
      %y: u8[2, 3, 3, 3] = Add(%m/quantized, %m/quantized) version 14 @"y" from ["y"]
  })");
  expect_pass(kPropagate,
              dequantized(moved + R"(%q: u8[*] = QuantizeLinear(%m, %t, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
              R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %s = f32[] hex"cdcccc3d"
      const %t = f32[] hex"0000003e"
      const %z = u8[] hex"80"
      %p/quantized: u8[2, 3, 3, 3] = MaxPool(%x) {kernel_shape = ints[2, 2]} version 12 @"p" from ["d", "p"]
      %m/quantized: u8[2, 3, 3, 3] = Transpose(%p/quantized) {perm = ints[0, 2, 3, 1]} version 21 @"m" from ["m"]
      %m: f32[2, 3, 3, 3] = DequantizeLinear(%m/quantized, %s, %z) version 21 @"m/dequantize" from ["m"]
      %q: u8[2, 3, 3, 3] = QuantizeLinear(%m, %t, %z) version 21 @"q" from ["q"]
      %y: u8[2, 3, 3, 3] = Add(%q, %q) version 14 @"y" from ["y"]
  })");
}

TEST(PropagateDequantize, AConcatOfOneScale) {
  expect_pass(kPropagate, dequantized(R"(%e: f32[*] = DequantizeLinear(%x, %s, %z) version 21 @"e" from ["e"]
    %y: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"y" from ["y"])"),
              R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %s = f32[] hex"cdcccc3d"
      const %z = u8[] hex"80"
      %y/quantized: u8[2, 6, 4, 4] = Concat(%x, %x) {axis = 1} version 13 @"y" from ["d", "e", "y"]
      %y: f32[2, 6, 4, 4] = DequantizeLinear(%y/quantized, %s, %z) version 21 @"y/dequantize" from ["y"]
  })");
  expect_unchanged(kPropagate,
                   dequantized(R"(%e: f32[*] = DequantizeLinear(%x, %t, %z) version 21 @"e" from ["e"]
    %y: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"y" from ["y"])"));
}

TEST(PropagateDequantize, AConcatOfDifferentScalesThatIsQuantized) {
  expect_pass(kPropagate, dequantized(R"(%e: f32[*] = DequantizeLinear(%x, %t, %z) version 21 @"e" from ["e"]
    %c: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"c" from ["c"]
    %q: u8[*] = QuantizeLinear(%c, %t, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
              R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %s = f32[] hex"cdcccc3d"
      const %t = f32[] hex"0000003e"
      const %z = u8[] hex"80"
      %d: f32[2, 3, 4, 4] = DequantizeLinear(%x, %s, %z) version 21 @"d" from ["d"]
      %d/quantized: u8[2, 3, 4, 4] = QuantizeLinear(%d, %t, %z) version 21 @"d/quantized" from ["c", "q"]
      %q: u8[2, 6, 4, 4] = Concat(%d/quantized, %x) {axis = 1} version 13 @"c" from ["c", "q"]
      %y: u8[2, 6, 4, 4] = Add(%q, %q) version 14 @"y" from ["y"]
  })");
}

TEST(PropagateDequantize, APadOfZerosAddsZeroPoints) {
  const std::string read = R"(%q: u8[*] = QuantizeLinear(%p, %s, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])";
  const auto pad = [&](const std::string& inputs) {
    return dequantized("%p: f32[*] = Pad(" + inputs + " version 13 @\"p\" from [\"p\"]\n" + read);
  };
  expect_pass(kPropagate, pad("%d, %pads)"), R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
      const %p/zero_point = u8[] hex"80"
      %p/quantized: u8[2, 3, 5, 7] = Pad(%x, %pads, %p/zero_point) version 13 @"p" from ["d", "p", "q"]
      %y: u8[2, 3, 5, 7] = Add(%p/quantized, %p/quantized) version 14 @"y" from ["y"]
  })");
  expect_pass(kPropagate, pad("%d, %pads, %zero)"), R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
      const %p/zero_point = u8[] hex"80"
      %p/quantized: u8[2, 3, 5, 7] = Pad(%x, %pads, %p/zero_point) version 13 @"p" from ["d", "p", "q"]
      %y: u8[2, 3, 5, 7] = Add(%p/quantized, %p/quantized) version 14 @"y" from ["y"]
  })");
  expect_pass(kPropagate, pad("%d, %pads) {mode = \"edge\"}"), R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
      %p/quantized: u8[2, 3, 5, 7] = Pad(%x, %pads) {mode = "edge"} version 13 @"p" from ["d", "p", "q"]
      %y: u8[2, 3, 5, 7] = Add(%p/quantized, %p/quantized) version 14 @"y" from ["y"]
  })");
  expect_unchanged(kPropagate, pad("%d, %pads, %one)"));
  expect_pass(kPropagate, dequantized(R"(%f: f32[*] = Neg(%d) version 13 @"f" from ["f"]
    %p: f32[*] = Pad(%f, %pads) version 13 @"p" from ["p"]
    )" + read),
              R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
      const %s = f32[] hex"cdcccc3d"
      const %z = u8[] hex"80"
      const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
      const %p/zero_point = u8[] hex"80"
      %d: f32[2, 3, 4, 4] = DequantizeLinear(%x, %s, %z) version 21 @"d" from ["d"]
      %f: f32[2, 3, 4, 4] = Neg(%d) version 13 @"f" from ["f"]
      %f/quantized: u8[2, 3, 4, 4] = QuantizeLinear(%f, %s, %z) version 21 @"f/quantized" from ["p", "q"]
      %q: u8[2, 3, 5, 7] = Pad(%f/quantized, %pads, %p/zero_point) version 13 @"p" from ["p", "q"]
      %y: u8[2, 3, 5, 7] = Add(%q, %q) version 14 @"y" from ["y"]
  })");
}

}  // namespace
}  // namespace vernier
