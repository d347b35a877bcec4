// Passes around QuantizeLinear and DequantizeLinear: what they take, and what they must leave.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

struct Case {
  std::string between = "%r: f32[*] = Relu(%c) version 14 @\"r\" from [\"r\"]";
  std::string w_zero = "00";
  std::string outputs = "%y";
};

const std::string kSum = R"(%q1: u8[*] = QuantizeLinear(%c, %y_scale, %y_zero) version 21 @"q1" from ["q1"]
    %d1: f32[*] = DequantizeLinear(%q1, %y_scale, %y_zero) version 21 @"d1" from ["d1"]
    %r: f32[*] = Add(%d1, %dx) version 14 @"r" from ["r"])";

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

const PassCase kFuse{fuse_qdq(), {split_dequantize()}};

TEST(SplitDequantize, EachReaderThatComputesHasItsOwn) {
  expect_pass({split_dequantize()}, model_of({.between = kSum}), R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %w = i8[1, 1, 2, 2] hex"01fe0503"
      const %w_scale = f32[] hex"0000003e"
      const %w_zero = i8[] hex"00"
      const %b = i32[1] hex"05000000"
      const %b_scale = f32[] hex"0000003d"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
      %dx/copy: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx/copy" from ["dx"]
      %dw: f32[1, 1, 2, 2] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
      %db: f32[1] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
      %c: f32[1, 1, 5, 6] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
      %q1: u8[1, 1, 5, 6] = QuantizeLinear(%c, %y_scale, %y_zero) version 21 @"q1" from ["q1"]
      %d1: f32[1, 1, 5, 6] = DequantizeLinear(%q1, %y_scale, %y_zero) version 21 @"d1" from ["d1"]
      %r: f32[1, 1, 5, 6] = Add(%d1, %dx/copy) version 14 @"r" from ["r"]
      %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
  })");
}

TEST(SplitDequantize, WhatOneReadsStays) {
  expect_unchanged({split_dequantize()}, model_of({}));
}

TEST(FuseQdq, FromDequantizeToQuantize) {
  expect_pass(kFuse, model_of({}), R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %w = i8[1, 1, 2, 2] hex"01fe0503"
      const %w_scale = f32[] hex"0000003e"
      const %w_zero = i8[] hex"00"
      const %b = i32[1] hex"05000000"
      const %b_scale = f32[] hex"0000003d"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %y: u8[1, 1, 5, 6] = vernier::Group(%q, %x_scale, %x_zero, %w, %w_scale, %w_zero, %b, %b_scale, %y_scale, %y_zero) {kind = "qconv"} version 1 @"y" from ["c", "db", "dw", "dx", "r", "y"] regions {
        body =
        graph "qconv" (%q: u8[1, 1, 5, 6], %x_scale: f32[], %x_zero: u8[], %w: i8[1, 1, 2, 2], %w_scale: f32[], %w_zero: i8[], %b: i32[1], %b_scale: f32[], %y_scale: f32[], %y_zero: u8[]) -> (%y) {
          %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
          %dw: f32[1, 1, 2, 2] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
          %db: f32[1] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
          %c: f32[1, 1, 5, 6] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
          %r: f32[1, 1, 5, 6] = Relu(%c) version 14 @"r" from ["r"]
          %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
        }
      }
  })");
}

TEST(FuseQdq, OnThroughAResidualSum) {
  expect_pass(kFuse, model_of({.between = kSum}), R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %w = i8[1, 1, 2, 2] hex"01fe0503"
      const %w_scale = f32[] hex"0000003e"
      const %w_zero = i8[] hex"00"
      const %b = i32[1] hex"05000000"
      const %b_scale = f32[] hex"0000003d"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %y: u8[1, 1, 5, 6] = vernier::Group(%q, %x_scale, %x_zero, %w, %w_scale, %w_zero, %b, %b_scale, %y_scale, %y_zero) {kind = "qconv"} version 1 @"y" from ["c", "d1", "db", "dw", "dx", "q1", "r", "y"] regions {
        body =
        graph "qconv" (%q: u8[1, 1, 5, 6], %x_scale: f32[], %x_zero: u8[], %w: i8[1, 1, 2, 2], %w_scale: f32[], %w_zero: i8[], %b: i32[1], %b_scale: f32[], %y_scale: f32[], %y_zero: u8[]) -> (%y) {
          %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
          %dx/copy: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx/copy" from ["dx"]
          %dw: f32[1, 1, 2, 2] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
          %db: f32[1] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
          %c: f32[1, 1, 5, 6] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
          %q1: u8[1, 1, 5, 6] = QuantizeLinear(%c, %y_scale, %y_zero) version 21 @"q1" from ["q1"]
          %d1: f32[1, 1, 5, 6] = DequantizeLinear(%q1, %y_scale, %y_zero) version 21 @"d1" from ["d1"]
          %r: f32[1, 1, 5, 6] = Add(%d1, %dx/copy) version 14 @"r" from ["r"]
          %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
        }
      }
  })");
}

TEST(FuseQdq, WeightsWithAZeroPointStay) {
  expect_unchanged(kFuse, model_of({.w_zero = "01"}));
}

TEST(FuseQdq, WhatIsReadAsFloatEndsTheGroup) {
  expect_pass(kFuse, model_of({.outputs = "%y, %c"}), R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y, %c) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %w = i8[1, 1, 2, 2] hex"01fe0503"
      const %w_scale = f32[] hex"0000003e"
      const %w_zero = i8[] hex"00"
      const %b = i32[1] hex"05000000"
      const %b_scale = f32[] hex"0000003d"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %c: f32[1, 1, 5, 6] = vernier::Group(%q, %x_scale, %x_zero, %w, %w_scale, %w_zero, %b, %b_scale) {kind = "qconv"} version 1 @"c" from ["c", "db", "dw", "dx"] regions {
        body =
        graph "qconv" (%q: u8[1, 1, 5, 6], %x_scale: f32[], %x_zero: u8[], %w: i8[1, 1, 2, 2], %w_scale: f32[], %w_zero: i8[], %b: i32[1], %b_scale: f32[]) -> (%c) {
          %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
          %dw: f32[1, 1, 2, 2] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
          %db: f32[1] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
          %c: f32[1, 1, 5, 6] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
        }
      }
      %r: f32[1, 1, 5, 6] = Relu(%c) version 14 @"r" from ["r"]
      %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
  })");
}

TEST(FuseQdq, OtherFunctionsEndTheGroup) {
  expect_pass(kFuse, model_of({.between = R"(%r: f32[*] = Sigmoid(%c) version 14 @"r" from ["r"])"}),
              R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %w = i8[1, 1, 2, 2] hex"01fe0503"
      const %w_scale = f32[] hex"0000003e"
      const %w_zero = i8[] hex"00"
      const %b = i32[1] hex"05000000"
      const %b_scale = f32[] hex"0000003d"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %c: f32[1, 1, 5, 6] = vernier::Group(%q, %x_scale, %x_zero, %w, %w_scale, %w_zero, %b, %b_scale) {kind = "qconv"} version 1 @"c" from ["c", "db", "dw", "dx"] regions {
        body =
        graph "qconv" (%q: u8[1, 1, 5, 6], %x_scale: f32[], %x_zero: u8[], %w: i8[1, 1, 2, 2], %w_scale: f32[], %w_zero: i8[], %b: i32[1], %b_scale: f32[]) -> (%c) {
          %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
          %dw: f32[1, 1, 2, 2] = DequantizeLinear(%w, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
          %db: f32[1] = DequantizeLinear(%b, %b_scale) version 21 @"db" from ["db"]
          %c: f32[1, 1, 5, 6] = Conv(%dx, %dw, %db) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
        }
      }
      %r: f32[1, 1, 5, 6] = Sigmoid(%c) version 14 @"r" from ["r"]
      %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
  })");
}

std::string norm_of(const std::string& norm, const std::string& outputs = "%y") {
  return R"(graph "g" (%x: u8[3, 5], %s: f32[5], %b: f32[5]) -> ()" + outputs + R"() {
    const %scale = f32[] hex"0000803e"
    const %zero = u8[] hex"10"
    %d: f32[*] = DequantizeLinear(%x, %scale, %zero) version 21 @"d" from ["d"]
    %n: f32[*] = )" +
         norm + R"( @"n" from ["n"]
    %y: u8[*] = QuantizeLinear(%n, %scale, %zero) version 21 @"y" from ["y"]
  })";
}

TEST(FuseQdq, RowsThatAreNormalised) {
  const std::string layer = "LayerNormalization(%d, %s, %b) {axis = -1} version 17";
  expect_pass({fuse_qdq()}, norm_of(layer), R"(graph "g" (%x: u8[3, 5], %s: f32[5], %b: f32[5]) -> (%y) {
      const %scale = f32[] hex"0000803e"
      const %zero = u8[] hex"10"
      %y: u8[3, 5] = vernier::Group(%x, %scale, %zero, %s, %b) {kind = "qnorm"} version 1 @"y" from ["d", "n", "y"] regions {
        body =
        graph "qnorm" (%x: u8[3, 5], %scale: f32[], %zero: u8[], %s: f32[5], %b: f32[5]) -> (%y) {
          %d: f32[3, 5] = DequantizeLinear(%x, %scale, %zero) version 21 @"d" from ["d"]
          %n: f32[3, 5] = LayerNormalization(%d, %s, %b) {axis = -1} version 17 @"n" from ["n"]
          %y: u8[3, 5] = QuantizeLinear(%n, %scale, %zero) version 21 @"y" from ["y"]
        }
      }
  })");
  expect_pass({fuse_qdq()}, norm_of("RMSNormalization(%d, %s) {axis = -1} version 23"),
              R"(graph "g" (%x: u8[3, 5], %s: f32[5], %b: f32[5]) -> (%y) {
      const %scale = f32[] hex"0000803e"
      const %zero = u8[] hex"10"
      %y: u8[3, 5] = vernier::Group(%x, %scale, %zero, %s) {kind = "qnorm"} version 1 @"y" from ["d", "n", "y"] regions {
        body =
        graph "qnorm" (%x: u8[3, 5], %scale: f32[], %zero: u8[], %s: f32[5]) -> (%y) {
          %d: f32[3, 5] = DequantizeLinear(%x, %scale, %zero) version 21 @"d" from ["d"]
          %n: f32[3, 5] = RMSNormalization(%d, %s) {axis = -1} version 23 @"n" from ["n"]
          %y: u8[3, 5] = QuantizeLinear(%n, %scale, %zero) version 21 @"y" from ["y"]
        }
      }
  })");
  for (const char* outputs : {"%y, %n", "%y, %d"})
    expect_unchanged({fuse_qdq()}, norm_of(layer, outputs));  // read as float
}

TEST(FoldConstants, MayKeepIntegers) {
  expect_unchanged({fold_constants(true)}, model_of({}));
  expect_pass({fold_constants()}, model_of({}), R"(graph "g" (%x: f32[1, 1, 5, 6]) -> (%y) {
      const %x_scale = f32[] hex"0000803e"
      const %x_zero = u8[] hex"80"
      const %y_scale = f32[] hex"0000003e"
      const %y_zero = u8[] hex"10"
      const %dw/constant = f32[1, 1, 2, 2] hex"0000003e000080be0000203f0000c03e"
      const %db/constant = f32[1] hex"0000203e"
      %q: u8[1, 1, 5, 6] = QuantizeLinear(%x, %x_scale, %x_zero) version 21 @"q" from ["q"]
      %dx: f32[1, 1, 5, 6] = DequantizeLinear(%q, %x_scale, %x_zero) version 21 @"dx" from ["dx"]
      %c: f32[1, 1, 5, 6] = Conv(%dx, %dw/constant, %db/constant) {pads = ints[1, 1, 0, 0]} version 11 @"c" from ["c"]
      %r: f32[1, 1, 5, 6] = Relu(%c) version 14 @"r" from ["r"]
      %y: u8[1, 1, 5, 6] = QuantizeLinear(%r, %y_scale, %y_zero) version 21 @"y" from ["y"]
  })");
}

}  // namespace
}  // namespace vernier
