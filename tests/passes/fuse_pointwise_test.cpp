// fuse-pointwise: what is grouped, what is not, and that a group means what its nodes mean.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

const PassCase kFuse{fuse_pointwise([](const Node& node) { return node.op != "Erf"; })};

TEST(FusePointwise, AChainIsOneGroup) {
  expect_pass(kFuse, R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
    %a: f32[*] = Add(%x, %b) version 14 @"a" from ["a"]
    %c: f32[*] = Exp(%a) version 13 @"c" from ["c"]
    %y: f32[*] = Mul(%c, %a) version 14 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
      %y: f32[2, 3] = vernier::Group(%x, %b) {kind = "pointwise"} version 1 @"y" from ["a", "c", "y"] regions {
        body =
        graph "pointwise" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
          %a: f32[2, 3] = Add(%x, %b) version 14 @"a" from ["a"]
          %c: f32[2, 3] = Exp(%a) version 13 @"c" from ["c"]
          %y: f32[2, 3] = Mul(%c, %a) version 14 @"y" from ["y"]
        }
      }
  })");
}

const PassCase kEnd{fuse_pointwise([](const Node&) { return true; },
                                   [](const Node& node) { return node.op == "LayerNormalization"; })};

// Sub reads the sum and stays outside, though it is pointwise: nothing joins a group behind its end.
TEST(FusePointwise, ANormalisationEndsAGroup) {
  expect_pass(kEnd, R"(graph "g" (%x: f32[2, 3], %r: f32[2, 3], %s: f32[3]) -> (%z) {
    %a: f32[*] = Add(%x, %r) version 14 @"a" from ["a"]
    %n: f32[*] = LayerNormalization(%a, %s) version 17 @"n" from ["n"]
    %z: f32[*] = Sub(%n, %a) version 14 @"z" from ["z"]
  })",
              R"(graph "g" (%x: f32[2, 3], %r: f32[2, 3], %s: f32[3]) -> (%z) {
      %a: f32[2, 3], %n: f32[2, 3] = vernier::Group(%x, %r, %s) {kind = "normalization"} version 1 @"n" from ["a", "n"] regions {
        body =
        graph "normalization" (%x: f32[2, 3], %r: f32[2, 3], %s: f32[3]) -> (%a, %n) {
          %a: f32[2, 3] = Add(%x, %r) version 14 @"a" from ["a"]
          %n: f32[2, 3] = LayerNormalization(%a, %s) version 17 @"n" from ["n"]
        }
      }
      %z: f32[2, 3] = Sub(%n, %a) version 14 @"z" from ["z"]
  })");
}

// A scale that depends on what is normalised would have the group wait for itself.
TEST(FusePointwise, AScaleOfWhatIsNormalisedKeepsItOut) {
  expect_unchanged(kEnd, R"(graph "g" (%x: f32[3, 3], %w: f32[3, 3]) -> (%n) {
    %a: f32[*] = Neg(%x) version 13 @"a" from ["a"]
    %m: f32[*] = MatMul(%a, %w) version 13 @"m" from ["m"]
    %n: f32[*] = LayerNormalization(%a, %m) {axis=0} version 17 @"n" from ["n"]
  })");
}

TEST(FusePointwise, ALoneNodeStays) {
  expect_unchanged(kFuse, R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"y" from ["y"]
  })");
}

TEST(FusePointwise, AValueReadOutsideIsAnOutput) {
  expect_pass(kFuse, R"(graph "g" (%x: f32[2, 3]) -> (%y, %s) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %y: f32[*] = Neg(%a) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3]) -> (%y, %s) {
      %a: f32[2, 3], %y: f32[2, 3] = vernier::Group(%x) {kind = "pointwise"} version 1 @"y" from ["a", "y"] regions {
        body =
        graph "pointwise" (%x: f32[2, 3]) -> (%a, %y) {
          %a: f32[2, 3] = Exp(%x) version 13 @"a" from ["a"]
          %y: f32[2, 3] = Neg(%a) version 13 @"y" from ["y"]
        }
      }
      %s: f32[2, 3] = Softmax(%a) version 13 @"s" from ["s"]
  })");
}

// Add reads Exp directly and through Softmax: together they would depend on themselves.
TEST(FusePointwise, NoPathLeavesAGroupAndComesBack) {
  expect_unchanged(kFuse, R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %y: f32[*] = Add(%a, %s) version 14 @"y" from ["y"]
  })");
}

// Two groups of which each would wait for the other: b and d (through e), a and c.
TEST(FusePointwise, GroupsDoNotWaitForEachOther) {
  expect_pass(kFuse, R"(graph "g" (%x: f32[2, 3], %z: f32[2, 3]) -> (%c, %d) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Neg(%z) version 13 @"b" from ["b"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %t: f32[*] = Softmax(%b) version 13 @"t" from ["t"]
    %c: f32[*] = Add(%a, %t) version 14 @"c" from ["c"]
    %d: f32[*] = Mul(%b, %s) version 14 @"d" from ["d"]
  })",
              R"(graph "g" (%x: f32[2, 3], %z: f32[2, 3]) -> (%c, %d) {
      %b: f32[2, 3] = Neg(%z) version 13 @"b" from ["b"]
      %t: f32[2, 3] = Softmax(%b) version 13 @"t" from ["t"]
      %a: f32[2, 3], %c: f32[2, 3] = vernier::Group(%x, %t) {kind = "pointwise"} version 1 @"c" from ["a", "c"] regions {
        body =
        graph "pointwise" (%x: f32[2, 3], %t: f32[2, 3]) -> (%a, %c) {
          %a: f32[2, 3] = Exp(%x) version 13 @"a" from ["a"]
          %c: f32[2, 3] = Add(%a, %t) version 14 @"c" from ["c"]
        }
      }
      %s: f32[2, 3] = Softmax(%a) version 13 @"s" from ["s"]
      %d: f32[2, 3] = Mul(%b, %s) version 14 @"d" from ["d"]
  })");
}

TEST(FusePointwise, OtherSizesAndOperatorsStayOutside) {
  expect_pass(kFuse, R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
    %a: f32[*] = Exp(%b) version 13 @"a" from ["a"]
    %c: f32[*] = Abs(%a) version 13 @"c" from ["c"]
    %d: f32[*] = Add(%x, %c) version 14 @"d" from ["d"]
    %e: f32[*] = Erf(%d) version 13 @"e" from ["e"]
    %y: f32[*] = Mul(%e, %d) version 14 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
      %c: f32[3] = vernier::Group(%b) {kind = "pointwise"} version 1 @"c" from ["a", "c"] regions {
        body =
        graph "pointwise" (%b: f32[3]) -> (%c) {
          %a: f32[3] = Exp(%b) version 13 @"a" from ["a"]
          %c: f32[3] = Abs(%a) version 13 @"c" from ["c"]
        }
      }
      %d: f32[2, 3] = Add(%x, %c) version 14 @"d" from ["d"]
      %e: f32[2, 3] = Erf(%d) version 13 @"e" from ["e"]
      %y: f32[2, 3] = Mul(%e, %d) version 14 @"y" from ["y"]
  })");
}

}  // namespace
}  // namespace vernier
