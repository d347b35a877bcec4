// Passes around QuantizeLinear and DequantizeLinear: what they take, and what they must leave.
#include "passes/rewriting.h"

namespace vernier {
namespace {

struct Case {
  std::string between = "%r: f32[*] = Relu(%c) version 14 @\"r\" from [\"r\"]";
  std::string w_zero = "00";
  std::string outputs = "%y";
};

Model model_of(const Case& with) {
  return parse_graph(R"(graph "g" (%x: f32[1, 1, 5, 6]) -> ()" + with.outputs + R"() {
    const %x_scale = f32[] hex"0000803e"
    const %x_zero = u8[] hex"80"
    const %w = i8[1, 1, 2, 2] hex"01fe0503"
    const %w_scale = f32[] hex"0000003e"
    const %w_zero = i8[] hex")" +
                     with.w_zero + R"("
    const %b = i32[1] hex"05000000"
    const %b_scale = f32[] hex"0000003d"
    const %y_scale = f32[] hex"0000003e"
    const %y_zero = u8[] hex"10"
    %q: u8[*] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
    %dx: f32[*] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
    %dw: f32[*] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
    %db: f32[*] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
    %c: f32[*] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
    )" + with.between +
                     R"(
    %y: u8[*] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
  })");
}

std::string absorbed(const Case& with) {
  const Model before = model_of(with);
  Model after = model_of(with);
  rewrite(after, {split_dequantize(), absorb_qdq()});
  EXPECT_EQ(distance(before, after), 0);  // a group means what its nodes mean
  return operators(*after.graph);
}

TEST(AbsorbQdq, FromDequantizeToQuantize) {
  EXPECT_EQ(
      absorbed({}),
      "QuantizeLinear qconv(DequantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear)");
}

TEST(AbsorbQdq, OnThroughAResidualSum) {
  const std::string sum = R"(%q1: u8[*] = QuantizeLinear(%c, %y_scale, %y_zero) version 21 @"q1" from ["q1"]
    %d1: f32[*] = DequantizeLinear(%q1, %y_scale, %y_zero) version 21 @"d1" from ["d1"]
    %r: f32[*] = Add(%d1, %dx) version 14 @"r" from ["r"])";
  EXPECT_EQ(absorbed({.between = sum}),
            "QuantizeLinear qconv(DequantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv "
            "QuantizeLinear DequantizeLinear Add QuantizeLinear)");
}

TEST(AbsorbQdq, WeightsWithAZeroPointStay) {
  EXPECT_EQ(absorbed({.w_zero = "01"}),
            "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear");
}

TEST(AbsorbQdq, WhatIsReadAsFloatEndsTheGroup) {
  EXPECT_EQ(
      absorbed({.outputs = "%y, %c"}),
      "QuantizeLinear qconv(DequantizeLinear DequantizeLinear DequantizeLinear Conv) Relu QuantizeLinear");
}

TEST(AbsorbQdq, OtherFunctionsEndTheGroup) {
  EXPECT_EQ(absorbed({.between = R"(%r: f32[*] = Sigmoid(%c) version 14 @"r" from ["r"])"}),
            "QuantizeLinear qconv(DequantizeLinear DequantizeLinear DequantizeLinear Conv) Sigmoid "
            "QuantizeLinear");
}

std::string absorbed_norm(const std::string& norm, const std::string& outputs = "%y") {
  const std::string text = R"(graph "g" (%x: u8[3, 5], %s: f32[5], %b: f32[5]) -> ()" + outputs + R"() {
    const %scale = f32[] hex"0000803e"
    const %zero = u8[] hex"10"
    %d: f32[*] = DequantizeLinear(%x, %scale, %zero) version 21 @"d" from ["d"]
    %n: f32[*] = )" + norm +
                           R"( @"n" from ["n"]
    %y: u8[*] = QuantizeLinear(%n, %scale, %zero) version 21 @"y" from ["y"]
  })";
  const Model before = parse_graph(text);
  Model after = parse_graph(text);
  rewrite(after, {absorb_qdq()});
  EXPECT_EQ(distance(before, after), 0);
  return operators(*after.graph);
}

TEST(AbsorbQdq, RowsThatAreNormalised) {
  const std::string layer = "LayerNormalization(%d, %s, %b) {axis = -1} version 17";
  EXPECT_EQ(absorbed_norm(layer), "qnorm(DequantizeLinear LayerNormalization QuantizeLinear)");
  EXPECT_EQ(absorbed_norm("RMSNormalization(%d, %s) {axis = -1} version 23"),
            "qnorm(DequantizeLinear RMSNormalization QuantizeLinear)");
  for (const char* outputs : {"%y, %n", "%y, %d"})  // what is read as float
    EXPECT_EQ(absorbed_norm(layer, outputs), "DequantizeLinear LayerNormalization QuantizeLinear");
}

TEST(FoldConstants, MayKeepIntegers) {
  Model model = model_of({});
  rewrite(model, {fold_constants(true)});
  EXPECT_EQ(operators(*model.graph), operators(*model_of({}).graph));
  rewrite(model, {fold_constants()});
  EXPECT_EQ(operators(*model.graph), "QuantizeLinear DequantizeLinear Conv Relu QuantizeLinear");
}

std::string sunk(const std::string& nodes) {
  const std::string text = R"(graph "g" (%x: u8[2, 3, 4, 4]) -> (%y) {
    const %s = f32[] hex"cdcccc3d"
    const %t = f32[] hex"0000003e"
    const %z = u8[] hex"80"
    const %pads = i64[8] hex"00000000000000000000000000000000010000000000000002000000000000000000000000000000000000000000000000000000000000000100000000000000"
    const %zero = f32[] hex"00000000"
    const %one = f32[] hex"0000803f"
    %d: f32[*] = DequantizeLinear(%x, %s, %z) version 21 @"d" from ["d"]
    )" + nodes + "\n}";
  const Model before = parse_graph(text);
  Model after = parse_graph(text);
  rewrite(after, {sink_dequantize(), remove_dead_code()});
  EXPECT_EQ(distance(before, after), 0);
  return operators(*after.graph);
}

TEST(SinkDequantize, MovesIntegersInstead) {
  const std::string moved = R"(%p: f32[*] = MaxPool(%d) {kernel_shape = ints[2, 2]} version 12 @"p" from ["p"]
    %m: f32[*] = Transpose(%p) {perm = ints[0, 2, 3, 1]} version 21 @"m" from ["m"]
    )";
  EXPECT_EQ(sunk(moved + R"(%q: u8[*] = QuantizeLinear(%m, %s, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
            "MaxPool Transpose Add");
  EXPECT_EQ(sunk(moved + R"(%q: u8[*] = QuantizeLinear(%m, %t, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
            "MaxPool Transpose DequantizeLinear QuantizeLinear Add");
}

TEST(SinkDequantize, AConcatOfOneScale) {
  EXPECT_EQ(sunk(R"(%e: f32[*] = DequantizeLinear(%x, %s, %z) version 21 @"e" from ["e"]
    %y: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"y" from ["y"])"),
            "Concat DequantizeLinear");
  EXPECT_EQ(sunk(R"(%e: f32[*] = DequantizeLinear(%x, %t, %z) version 21 @"e" from ["e"]
    %y: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"y" from ["y"])"),
            "DequantizeLinear DequantizeLinear Concat");
}

TEST(SinkDequantize, AConcatOfDifferentScalesThatIsQuantised) {
  EXPECT_EQ(sunk(R"(%e: f32[*] = DequantizeLinear(%x, %t, %z) version 21 @"e" from ["e"]
    %c: f32[*] = Concat(%d, %e) {axis = 1} version 13 @"c" from ["c"]
    %q: u8[*] = QuantizeLinear(%c, %t, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])"),
            "DequantizeLinear QuantizeLinear Concat Add");
}

TEST(SinkDequantize, APadOfZerosAddsZeroPoints) {
  const std::string read = R"(%q: u8[*] = QuantizeLinear(%p, %s, %z) version 21 @"q" from ["q"]
    %y: u8[*] = Add(%q, %q) version 14 @"y" from ["y"])";
  EXPECT_EQ(sunk(R"(%p: f32[*] = Pad(%d, %pads) version 13 @"p" from ["p"]
    )" + read),
            "Pad Add");
  EXPECT_EQ(sunk(R"(%p: f32[*] = Pad(%d, %pads, %zero) version 13 @"p" from ["p"]
    )" + read),
            "Pad Add");
  EXPECT_EQ(sunk(R"(%p: f32[*] = Pad(%d, %pads) {mode = "edge"} version 13 @"p" from ["p"]
    )" + read),
            "Pad Add");
  EXPECT_EQ(sunk(R"(%p: f32[*] = Pad(%d, %pads, %one) version 13 @"p" from ["p"]
    )" + read),
            "DequantizeLinear Pad QuantizeLinear Add");
  EXPECT_EQ(sunk(R"(%f: f32[*] = Neg(%d) version 13 @"f" from ["f"]
    %p: f32[*] = Pad(%f, %pads) version 13 @"p" from ["p"]
    )" + read),
            "DequantizeLinear Neg QuantizeLinear Pad Add");
}

}  // namespace
}  // namespace vernier
