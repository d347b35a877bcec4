// fuse-pointwise: what is grouped, what is not, and that a group means what its nodes mean.
#include "passes/rewriting.h"

namespace vernier {
namespace {

std::string fused(const std::string& graph) {
  const Model before = parse_graph(graph);
  Model after = parse_graph(graph);
  rewrite(after, {fuse_pointwise([](const Node& node) { return node.op != "Erf"; })});
  EXPECT_EQ(distance(before, after), 0);
  return operators(*after.graph);
}

TEST(FusePointwise, AChainIsOneGroup) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
    %a: f32[*] = Add(%x, %b) version 14 @"a" from ["a"]
    %c: f32[*] = Exp(%a) version 13 @"c" from ["c"]
    %y: f32[*] = Mul(%c, %a) version 14 @"y" from ["y"]
  })"),
            "pointwise(Add Exp Mul)");
}

TEST(FusePointwise, ALoneNodeStays) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"y" from ["y"]
  })"),
            "Exp");
}

TEST(FusePointwise, AValueReadOutsideIsAnOutput) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3]) -> (%y, %s) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %y: f32[*] = Neg(%a) version 13 @"y" from ["y"]
  })"),
            "pointwise(Exp Neg) Softmax");
}

// Add reads Exp directly and through Softmax: together they would depend on themselves.
TEST(FusePointwise, NoPathLeavesAGroupAndComesBack) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %y: f32[*] = Add(%a, %s) version 14 @"y" from ["y"]
  })"),
            "Exp Softmax Add");
}

// Two groups of which each would wait for the other: b and d (through e), a and c.
TEST(FusePointwise, GroupsDoNotWaitForEachOther) {
  const std::string text = fused(R"(graph "g" (%x: f32[2, 3], %z: f32[2, 3]) -> (%c, %d) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Neg(%z) version 13 @"b" from ["b"]
    %s: f32[*] = Softmax(%a) version 13 @"s" from ["s"]
    %t: f32[*] = Softmax(%b) version 13 @"t" from ["t"]
    %c: f32[*] = Add(%a, %t) version 14 @"c" from ["c"]
    %d: f32[*] = Mul(%b, %s) version 14 @"d" from ["d"]
  })");
  EXPECT_EQ(text, "Neg Softmax pointwise(Exp Add) Softmax Mul");
}

TEST(FusePointwise, OtherSizesAndOperatorsStayOutside) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3], %b: f32[3]) -> (%y) {
    %a: f32[*] = Exp(%b) version 13 @"a" from ["a"]
    %c: f32[*] = Abs(%a) version 13 @"c" from ["c"]
    %d: f32[*] = Add(%x, %c) version 14 @"d" from ["d"]
    %e: f32[*] = Erf(%d) version 13 @"e" from ["e"]
    %y: f32[*] = Mul(%e, %d) version 14 @"y" from ["y"]
  })"),
            "pointwise(Exp Abs) Add Erf Mul");
}

}  // namespace
}  // namespace vernier
