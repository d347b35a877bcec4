// Transposes merged and sunk, views, and pads folded: what is rewritten, what is left, and the same bits.
#include "passes/rewriting.h"

namespace vernier {
namespace {

struct Rewritten {
  std::string text;
  double distance;
  std::map<std::string, int> fired;
};

Rewritten run(const std::string& graph, std::vector<Pass> passes) {
  const Model before = parse_graph(graph);
  Model after = parse_graph(graph);
  passes.push_back(remove_dead_code());
  const auto fired = rewrite(after, passes);
  return {operators(*after.graph), distance(before, after), fired};
}

TEST(MergeTransposes, TwoBecomeOne) {
  const auto one = run(R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 2, 0]} version 13 @"a" from ["a"]
    %b: f32[*] = Transpose(%a) {perm = ints[1, 2, 0]} version 13 @"b" from ["b"]
    %y: f32[*] = Exp(%b) version 13 @"y" from ["y"]
  })",
                       {merge_transposes()});
  EXPECT_EQ(one.text, "Transpose Exp");
  EXPECT_EQ(one.distance, 0);
}

TEST(MergeTransposes, SymbolicSizesAndOutputs) {
  Model model = parse_graph(R"(graph "g" (%x: f32[2, N, 4]) -> (%y, %z) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 2, 0]} version 13 @"a" from ["a"]
    %b: f32[*] = Transpose(%a) {perm = ints[2, 0, 1]} version 13 @"b" from ["b"]
    %y: f32[*] = Exp(%b) version 13 @"y" from ["y"]
    %z: f32[*] = Transpose(%a) {perm = ints[2, 0, 1]} version 13 @"z" from ["z"]
  })");
  rewrite(model, {merge_transposes(), remove_dead_code()});
  EXPECT_EQ(operators(*model.graph), "Exp Identity");
  EXPECT_EQ(model.graph->nodes()[1]->provenance, (Provenance{"a", "z"}));
}

TEST(MergeTransposes, WhatMovesNoElementIsAReshape) {
  const auto made = run(R"(graph "g" (%x: f32[2, 1, 4, 1]) -> (%y) {
    %a: f32[*] = Transpose(%x) {perm = ints[1, 0, 3, 2]} version 13 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"y" from ["y"]
  })",
                        {merge_transposes()});
  EXPECT_EQ(made.text, "Reshape Exp");
  EXPECT_EQ(made.distance, 0);
}

TEST(SinkTransposes, APairAroundPointwiseOperatorsGoes) {
  const auto made = run(R"(graph "g" (%x: f32[2, 3, 4, 5], %z: f32[2, 3, 4, 5]) -> (%y) {
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
                        {sink_transposes()});
  EXPECT_EQ(made.text, "Mul Add Add Softmax Concat Exp");
  EXPECT_EQ(made.distance, 0);
  EXPECT_EQ(made.fired.at("sink-transposes"), 1);
}

TEST(SinkTransposes, AReductionAlongOneAxisIsToldAnother) {
  const auto made = run(R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    const %axis = i64[1] hex"ffffffffffffffff"
    %t: f32[*] = Transpose(%x) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
    %m: f32[*] = ReduceMean(%t, %axis) version 18 @"m" from ["m"]
    %c: f32[*] = Sub(%t, %m) version 14 @"c" from ["c"]
    %u: f32[*] = Transpose(%c) {perm = ints[0, 2, 1]} version 13 @"u" from ["u"]
    %y: f32[*] = Exp(%u) version 13 @"y" from ["y"]
  })",
                        {sink_transposes()});
  EXPECT_EQ(made.text, "ReduceMean Sub Exp");
  EXPECT_EQ(made.distance, 0);
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
    const auto made = run(graph, {sink_transposes()});
    EXPECT_TRUE(made.fired.empty()) << made.text;
  }
}

TEST(RemoveViews, AChainBecomesItsLast) {
  const auto made = run(R"(graph "g" (%x: f32[2, 3, 4]) -> (%y, %z) {
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
                        {remove_views()});
  EXPECT_EQ(made.text, "Reshape Exp Neg");
  EXPECT_EQ(made.distance, 0);
}

TEST(RemoveViews, SizesOfZeroStay) {
  const auto made = run(R"(graph "g" (%x: f32[0, 3]) -> (%y) {
    const %to = i64[2] hex"03000000000000000000000000000000"
    %a: f32[*] = Flatten(%x) version 13 @"a" from ["a"]
    %y: f32[*] = Reshape(%a, %to) {allowzero = 1} version 14 @"y" from ["y"]
  })",
                        {remove_views()});
  EXPECT_EQ(made.text, "Flatten Reshape");
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
  for (const char* reader :
       {"Conv(%p, %w) {group = 2, strides = ints[2, 1]}", "Conv(%p, %w) {group = 2, pads = ints[1, 0, 0, 1]}",
        "Conv(%p, %w) {group = 2, auto_pad = \"VALID\"}",
        "AveragePool(%p) {kernel_shape = ints[3, 2], strides = ints[2, 1]}",
        "AveragePool(%p) {kernel_shape = ints[4, 4], pads = ints[0, 1, 1, 1], count_include_pad = 1}"}) {
    const auto made = run(padded("00000000", kImagePads, reader), {fold_pad()});
    EXPECT_EQ(made.text.find("Pad"), std::string::npos) << reader;
    EXPECT_EQ(made.distance, 0) << reader;
  }
}

TEST(FoldPad, OthersStay) {
  const std::string conv = "Conv(%p, %w) {group = 2}";
  EXPECT_TRUE(run(padded("0000803f", kImagePads, conv), {fold_pad()}).fired.empty());  // ones
  EXPECT_TRUE(
      run(padded("00000000", kNone + kOne + kNone + kNone + kNone + kOne + kNone + kNone, "Identity(%p)"),
          {fold_pad()})
          .fired.empty());
  for (const char* reader :
       {"Conv(%p, %w) {group = 2, auto_pad = \"SAME_UPPER\"}", "MaxPool(%p) {kernel_shape = ints[3, 3]}",
        "AveragePool(%p) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]}",
        "AveragePool(%p) {kernel_shape = ints[2, 2]}"})
    EXPECT_TRUE(run(padded("00000000", kImagePads, reader), {fold_pad()}).fired.empty()) << reader;
}

}  // namespace
}  // namespace vernier
