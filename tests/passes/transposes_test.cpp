// Transposes merged and sunk, views, and pads folded: what is rewritten, what is left, and the same bits.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

TEST(MergeTransposes, TwoBecomeOne) {
  expect_pass({merge_transposes(), {}, {remove_dead_code()}}, R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 2, 0]} version 13 @"a" from ["a"]
    %b: f32[*] = Transpose(%a) {perm = ints[1, 2, 0]} version 13 @"b" from ["b"]
    %y: f32[*] = Exp(%b) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
      %b: f32[4, 2, 3] = Transpose(%x) {perm = ints[2, 0, 1]} version 14 @"b" from ["a", "b"]
      %y: f32[4, 2, 3] = Exp(%b) version 13 @"y" from ["y"]
  })");
}

TEST(MergeTransposes, SymbolicSizesAndOutputs) {
  const Tensor x =
      Tensor::from_ints(ElementType::kFloat, {2, 1, 4}, std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  expect_pass({merge_transposes(), {}, {remove_dead_code()}, {{"x", x}}},
              R"(graph "g" (%x: f32[2, N, 4]) -> (%y, %z) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 2, 0]} version 13 @"a" from ["a"]
    %b: f32[*] = Transpose(%a) {perm = ints[2, 0, 1]} version 13 @"b" from ["b"]
    %y: f32[*] = Exp(%b) version 13 @"y" from ["y"]
    %z: f32[*] = Transpose(%a) {perm = ints[2, 0, 1]} version 13 @"z" from ["z"]
  })",
              R"(graph "g" (%x: f32[2, N, 4]) -> (%y, %z) {
      %y: f32[2, N, 4] = Exp(%x) version 13 @"y" from ["y"]
      %z: f32[2, N, 4] = Identity(%x) version 14 @"z" from ["a", "z"]
  })");
}

TEST(MergeTransposes, AloneOneStays) {
  expect_unchanged({merge_transposes()}, R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 2, 0]} version 13 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"y" from ["y"]
  })");
}

TEST(MergeTransposes, WhatMovesNoElementIsAReshape) {
  expect_pass({merge_transposes()}, R"(graph "g" (%x: f32[2, 1, 4, 1]) -> (%y) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 0, 3, 2]} version 13 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 1, 4, 1]) -> (%y) {
      const %a/sizes = i64[4] hex"0100000000000000020000000000000001000000000000000400000000000000"
      %a: f32[1, 2, 1, 4] = Reshape(%x, %a/sizes) version 14 @"a" from ["a"]
      %y: f32[1, 2, 1, 4] = Exp(%a) version 13 @"y" from ["y"]
  })");
}

TEST(SinkTransposes, APairAroundPointwiseOperatorsGoes) {
  expect_pass({sink_transposes(), {}, {remove_dead_code()}},
              R"(graph "g" (%x: f32[2, 3, 4, 5], %z: f32[2, 3, 4, 5]) -> (%y) {
    const %one = f32[] hex"0000803f"
    const %channels = f32[3] hex"0000803f0000004000004040"
    %t: f32[*] = Transpose(%x) {perm = ints[0, 2, 3, 1]} version 13 @"t" from ["t"]
    %u: f32[*] = Transpose(%z) {perm = ints[0, 2, 3, 1]} version 13 @"u" from ["u"]
    %a: f32[*] = Mul(%t, %channels) version 14 @"a" from ["a"]
    %b: f32[*] = Add(%a, %u) version 14 @"b" from ["b"]
    %c: f32[*] = Add(%b, %one) version 14 @"c" from ["c"]
    %d: f32[*] = Softmax(%c) version 13 @"d" from ["d"]
    %e: f32[*] = Concat(%d, %b) {axis = 3} version 13 @"e" from ["e"]
    %f: f32[*] = Transpose(%e) {perm = ints[0, 3, 1, 2]} version 13 @"f" from ["f"]
    %y: f32[*] = Exp(%f) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3, 4, 5], %z: f32[2, 3, 4, 5]) -> (%y) {
      const %channels/moved = f32[1, 3, 1, 1] hex"0000803f0000004000004040"
      const %one/moved = f32[1, 1, 1, 1] hex"0000803f"
      %a/moved: f32[2, 3, 4, 5] = Mul(%x, %channels/moved) version 14 @"a" from ["a"]
      %b/moved: f32[2, 3, 4, 5] = Add(%a/moved, %z) version 14 @"b" from ["b"]
      %c/moved: f32[2, 3, 4, 5] = Add(%b/moved, %one/moved) version 14 @"c" from ["c"]
      %d/moved: f32[2, 3, 4, 5] = Softmax(%c/moved) {axis = 1} version 13 @"d" from ["d"]
      %e/moved: f32[2, 6, 4, 5] = Concat(%d/moved, %b/moved) {axis = 1} version 13 @"e" from ["e", "f"]
      %y: f32[2, 6, 4, 5] = Exp(%e/moved) version 13 @"y" from ["y"]
  })");
}

TEST(SinkTransposes, AReductionAlongOneAxisIsToldAnother) {
  expect_pass({sink_transposes(), {}, {remove_dead_code()}}, R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    const %axis = i64[1] hex"ffffffffffffffff"
    %t: f32[*] = Transpose(%x) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
    %m: f32[*] = ReduceMean(%t, %axis) version 18 @"m" from ["m"]
    %c: f32[*] = Sub(%t, %m) version 14 @"c" from ["c"]
    %u: f32[*] = Transpose(%c) {perm = ints[0, 2, 1]} version 13 @"u" from ["u"]
    %y: f32[*] = Exp(%u) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
      const %m/axis = i64[1] hex"0100000000000000"
      %m/moved: f32[2, 1, 4] = ReduceMean(%x, %m/axis) version 18 @"m" from ["m"]
      %c/moved: f32[2, 3, 4] = Sub(%x, %m/moved) version 14 @"c" from ["c", "u"]
      %y: f32[2, 3, 4] = Exp(%c/moved) version 13 @"y" from ["y"]
  })");
}

TEST(SinkTransposes, WhatDoesNotPayStays) {
  // One transpose only; another reader that would need one; an operator that knows its axes.
  for (const char* graph : {R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %t: f32[*] = Transpose(%x) {perm = ints[1, 0]} version 13 @"t" from ["t"]
    %y: f32[*] = Exp(%t) version 13 @"y" from ["y"]
  })",
                            R"(graph "g" (%x: f32[2, 3], %z: f32[3, 2]) -> (%y, %c) {
    %t: f32[*] = Transpose(%x) {perm = ints[1, 0]} version 13 @"t" from ["t"]
    %c: f32[*] = Add(%t, %z) version 14 @"c" from ["c"]
    %y: f32[*] = Transpose(%c) {perm = ints[1, 0]} version 13 @"y" from ["y"]
  })",
                            R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %t: f32[*] = Transpose(%x) {perm = ints[1, 0]} version 13 @"t" from ["t"]
    %c: f32[*] = Softmax(%t) {axis = 1} version 11 @"c" from ["c"]
    %y: f32[*] = Transpose(%c) {perm = ints[1, 0]} version 13 @"y" from ["y"]
  })"}) {
    expect_unchanged({sink_transposes()}, graph);
  }
}

TEST(RemoveViews, AChainBecomesItsLast) {
  expect_pass({remove_views(), {}, {remove_dead_code()}}, R"(graph "g" (%x: f32[2, 3, 4]) -> (%y, %z) {
    const %six = i64[2] hex"06000000000000000400000000000000"
    const %first = i64[1] hex"0000000000000000"
    const %back = i64[3] hex"020000000000000003000000000000000400000000000000"
    %a: f32[*] = Reshape(%x, %six) version 14 @"a" from ["a"]
    %b: f32[*] = Unsqueeze(%a, %first) version 13 @"b" from ["b"]
    %c: f32[*] = Flatten(%b) {axis = 2} version 13 @"c" from ["c"]
    %y: f32[*] = Exp(%c) version 13 @"y" from ["y"]
    %d: f32[*] = Reshape(%b, %back) version 14 @"d" from ["d"]
    %z: f32[*] = Neg(%d) version 13 @"z" from ["z"]
  })",
              R"(graph "g" (%x: f32[2, 3, 4]) -> (%y, %z) {
      const %c/sizes = i64[2] hex"06000000000000000400000000000000"
      %c: f32[6, 4] = Reshape(%x, %c/sizes) version 14 @"c" from ["a", "b", "c"]
      %y: f32[6, 4] = Exp(%c) version 13 @"y" from ["y"]
      %z: f32[2, 3, 4] = Neg(%x) version 13 @"z" from ["z"]
  })");
}

TEST(RemoveViews, SizesOfZeroStay) {
  expect_unchanged({remove_views()}, R"(graph "g" (%x: f32[0, 3]) -> (%y) {
    const %to = i64[2] hex"03000000000000000000000000000000"
    %a: f32[*] = Flatten(%x) version 13 @"a" from ["a"]
    %y: f32[*] = Reshape(%a, %to) {allowzero = 1} version 14 @"y" from ["y"]
  })");
}

std::string padded(const std::string& value, const std::string& pads, const std::string& reader) {
  return R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
    const %value = f32[] hex")" +
         value + R"("
    const %pads = i64[8] hex")" +
         pads + R"("
    const %w = f32[2, 1, 3, 3] hex"0000803f00000040000040400000803f00000040000040400000803f00000040000040400000803f00000040000040400000803f00000040000040400000803f0000004000004040"
    %p: f32[*] = Pad(%x, %pads, %value) version 13 @"p" from ["p"]
    %y: f32[*] = )" +
         reader + R"( version 11 @"y" from ["y"]
  })";
}

const std::string kNone = "0000000000000000", kOne = "0100000000000000", kTwo = "0200000000000000";
const std::string kImagePads = kNone + kNone + kOne + kNone + kNone + kNone + kTwo + kOne;

TEST(FoldPad, ZerosGoIntoConvAndAveragePool) {
  const auto expect = [](const std::string& reader, const std::string& after) {
    expect_pass({fold_pad(), {}, {remove_dead_code()}}, padded("00000000", kImagePads, reader), after);
  };
  expect("Conv(%p, %w) {group = 2, strides = ints[2, 1]}", R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
      const %w = f32[2, 1, 3, 3] hash 566f39639b7ce5ad
      %y: f32[1, 2, 4, 6] = Conv(%x, %w) {group = 2, pads = ints[1, 0, 2, 1], strides = ints[2, 1]} version 11 @"y" from ["p", "y"]
  })");
  expect("Conv(%p, %w) {group = 2, pads = ints[1, 0, 0, 1]}", R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
      const %w = f32[2, 1, 3, 3] hash 566f39639b7ce5ad
      %y: f32[1, 2, 8, 7] = Conv(%x, %w) {group = 2, pads = ints[2, 0, 2, 2]} version 11 @"y" from ["p", "y"]
  })");
  expect("Conv(%p, %w) {group = 2, auto_pad = \"VALID\"}", R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
      const %w = f32[2, 1, 3, 3] hash 566f39639b7ce5ad
      %y: f32[1, 2, 7, 6] = Conv(%x, %w) {group = 2, pads = ints[1, 0, 2, 1]} version 11 @"y" from ["p", "y"]
  })");
  expect("AveragePool(%p) {kernel_shape = ints[3, 2], strides = ints[2, 1]}",
         R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
      %y: f32[1, 2, 4, 7] = AveragePool(%x) {count_include_pad = 1, kernel_shape = ints[3, 2], pads = ints[1, 0, 2, 1], strides = ints[2, 1]} version 11 @"y" from ["p", "y"]
  })");
  expect("AveragePool(%p) {kernel_shape = ints[4, 4], pads = ints[0, 1, 1, 1], count_include_pad = 1}",
         R"(graph "g" (%x: f32[1, 2, 6, 7]) -> (%y) {
      %y: f32[1, 2, 7, 7] = AveragePool(%x) {count_include_pad = 1, kernel_shape = ints[4, 4], pads = ints[1, 1, 3, 2]} version 11 @"y" from ["p", "y"]
  })");
}

TEST(FoldPad, OthersStay) {
  const std::string conv = "Conv(%p, %w) {group = 2}";
  expect_unchanged({fold_pad()}, padded("0000803f", kImagePads, conv));  // ones
  const std::string channel = kNone + kOne + kNone + kNone + kNone + kOne + kNone + kNone;
  expect_unchanged({fold_pad()}, padded("00000000", channel, "Identity(%p)"));
  for (const char* reader :
       {"Conv(%p, %w) {group = 2, auto_pad = \"SAME_UPPER\"}", "MaxPool(%p) {kernel_shape = ints[3, 3]}",
        "AveragePool(%p) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]}",
        "AveragePool(%p) {kernel_shape = ints[2, 2]}"})
    expect_unchanged({fold_pad()}, padded("00000000", kImagePads, reader));
}

}  // namespace
}  // namespace vernier
