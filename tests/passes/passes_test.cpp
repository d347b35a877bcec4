// The general passes: what they rewrite, what they leave, and that the reference agrees before and after.
#include "passes/rewriting.h"

namespace vernier {
namespace {

struct Rewritten {
  Model before, after;
  std::map<std::string, int> fired;
  std::string text;
};

Rewritten run(const std::string& graph, const std::vector<Pass>& passes) {
  Rewritten result{parse_graph(graph), parse_graph(graph), {}, {}};
  result.fired = rewrite(result.after, passes);
  result.text = operators(*result.after.graph);
  return result;
}

TEST(FoldConstants, ShapeArithmeticAndConstantsGo) {
  const auto made = run(R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    const %minus = i64[1] hex"ffffffffffffffff"
    const %a = f32[4] hex"0000803f000000400000404000008040"
    %shape: i64[*] = Shape(%x) {end = 1} version 24 @"shape" from ["shape"]
    %to: i64[*] = Concat(%shape, %minus) {axis = 0} version 13 @"concat" from ["concat"]
    %b: f32[*] = Exp(%a) version 13 @"exp" from ["exp"]
    %c: f32[*] = Mul(%x, %b) version 14 @"mul" from ["mul"]
    %y: f32[*] = Reshape(%c, %to) version 24 @"reshape" from ["reshape"]
  })",
                        {fold_constants(), remove_dead_code()});
  EXPECT_EQ(made.text, "Mul Reshape");
  EXPECT_EQ(made.fired.at("fold-constants"), 3);
  EXPECT_EQ(distance(made.before, made.after), 0);
}

TEST(FoldConstants, ADefaultOfAnInputIsNoConstant) {
  Model model = parse_graph(R"(graph "g" (%x: f32[2]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"exp" from ["exp"]
  })");
  model.graph->inputs[0]->constant = Tensor::from<float>(ElementType::kFloat, {2}, {1, 2});
  EXPECT_TRUE(rewrite(model, {fold_constants()}).empty());
}

TEST(RemoveDeadCode, WhatNobodyReadsGoes) {
  const auto made = run(R"(graph "g" (%x: f32[2]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Neg(%a) version 13 @"b" from ["b"]
    %y: f32[*] = Abs(%x) version 13 @"y" from ["y"]
  })",
                        {remove_dead_code()});
  EXPECT_EQ(made.text, "Abs");
}

TEST(RemoveDeadCode, OutputsThatNobodyReadsAreLeftOut) {
  const auto made = run(R"(graph "g" (%x: f32[4, 3, 2], %w: f32[1, 8, 2], %r: f32[1, 8, 2]) -> (%y, %z) {
    const %one = i64[1] hex"0100000000000000"
    %all: f32[*], %h: f32[*], %c: f32[*] = LSTM(%x, %w, %r) {hidden_size = 2} version 14 @"l" from ["l"]
    %y: f32[*] = Exp(%h) version 13 @"y" from ["y"]
    %a: f32[*], %i: i64[*] = MaxPool(%x) {kernel_shape = ints[2]} version 22 @"a" from ["a"]
    %b: f32[*], %k: i64[*] = TopK(%a, %one) version 11 @"b" from ["b"]
    %z: f32[*] = Exp(%b) version 13 @"z" from ["z"]
  })",
                        {remove_dead_code()});
  const auto& nodes = made.after.graph->nodes();
  ASSERT_EQ(made.text, "LSTM Exp MaxPool TopK Exp");
  EXPECT_EQ(nodes[0]->output(0), nullptr);
  EXPECT_EQ(nodes[0]->outputs.size(), 2U);
  EXPECT_EQ(nodes[2]->outputs.size(), 1U);
  EXPECT_EQ(nodes[3]->outputs.size(), 2U);  // it must have both
  EXPECT_EQ(distance(made.before, made.after), 0);
}

TEST(RemoveIdentities, OutputsKeepTheirNames) {
  const auto made = run(R"(graph "g" (%x: f32[2]) -> (%y, %z) {
    %a: f32[*] = Identity(%x) version 24 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"b" from ["b"]
    %z: f32[*] = Identity(%y) version 24 @"c" from ["c"]
  })",
                        {remove_identities()});
  EXPECT_EQ(made.text, "Exp Identity");
  EXPECT_EQ(distance(made.before, made.after), 0);
}

TEST(RemoveIdentities, ACastThatRoundsStays) {
  const auto made = run(R"(graph "g" (%x: f32[2]) -> (%y) {
    %a: f16[*] = Cast(%x) {to = 10} version 24 @"a" from ["a"]
    %b: f32[*] = Cast(%a) {to = 1} version 24 @"b" from ["b"]
    %c: f32[*] = Cast(%b) {to = 1} version 24 @"c" from ["c"]
    %y: f32[*] = Neg(%c) version 13 @"d" from ["d"]
  })",
                        {remove_identities()});
  EXPECT_EQ(made.text, "Cast Cast Neg");
  EXPECT_EQ(distance(made.before, made.after), 0);
}

// As exporters guard a softmax against rows that are masked as a whole; with quantisers between.
TEST(RemoveIdentities, WhatIsNeverNaNNeedsNoOther) {
  const auto guarded = [](const std::string& from, const std::string& made) {
    return run(R"(graph "g" (%x: )" + from + R"([2, 3], %c: f32[]) -> (%y) {
    const %scale = f32[] hex"0000003f"
    %a: f32[*] = )" +
                   made + R"( version 21 @"a" from ["a"]
    %b: bool[*] = IsNaN(%a) version 20 @"b" from ["b"]
    %w: f32[*] = Where(%b, %c, %a) version 16 @"c" from ["c"]
    %y: f32[*] = Neg(%w) version 13 @"d" from ["d"]
  })",
               {remove_identities(), remove_dead_code()});
  };
  const auto made = guarded("u8", "DequantizeLinear(%x, %scale)");
  EXPECT_EQ(made.text, "DequantizeLinear Neg");
  EXPECT_EQ(distance(made.before, made.after), 0);
  EXPECT_EQ(guarded("f32", "Mul(%x, %scale)").text, "Mul IsNaN Where Neg");
  EXPECT_EQ(guarded("f8e4m3fn", "DequantizeLinear(%x, %scale)").text, "DequantizeLinear IsNaN Where Neg");
}

TEST(RemoveIdentities, QuantisingAgainAlikeYieldsTheSame) {
  const auto again = [](const std::string& zero, const std::string& scale, const std::string& second) {
    return run(R"(graph "g" (%x: u8[2, 3]) -> (%y) {
    const %s = f32[] hex"0ad7233c"
    const %t = f32[] hex")" +
                   scale + R"("
    const %z = u8[] hex"07"
    const %w = u8[] hex")" +
                   zero + R"("
    %a: f32[*] = DequantizeLinear(%x, %s, %z) version 21 @"a" from ["a"]
    %b: u8[*] = QuantizeLinear(%a, %t)" +
                   second + R"() version 21 @"b" from ["b"]
    %y: f32[*] = DequantizeLinear(%b, %s, %w) version 21 @"c" from ["c"]
  })",
               {remove_identities(), remove_dead_code()});
  };
  const auto made = again("07", "0ad7233c", ", %w");
  EXPECT_EQ(made.text, "DequantizeLinear");
  EXPECT_EQ(distance(made.before, made.after), 0);
  const std::string both = "DequantizeLinear QuantizeLinear DequantizeLinear";
  EXPECT_EQ(again("08", "0ad7233c", ", %w").text, both);  // another zero point
  EXPECT_EQ(again("07", "0bd7233c", ", %w").text, both);  // another scale
  EXPECT_EQ(again("07", "0ad7233c", "").text, both);      // 0
}

TEST(MergeCommonNodes, EqualNodesBecomeOneButRandomOnesStay) {
  const auto made = run(R"(graph "g" (%x: f32[2]) -> (%y, %r) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Exp(%x) version 13 @"b" from ["b"]
    %y: f32[*] = Add(%a, %b) version 14 @"y" from ["y"]
    %s: f32[*] = RandomNormalLike(%x) version 24 @"s" from ["s"]
    %t: f32[*] = RandomNormalLike(%x) version 24 @"t" from ["t"]
    %r: f32[*] = Sub(%s, %t) version 14 @"r" from ["r"]
  })",
                        {merge_common_nodes(), remove_dead_code()});
  EXPECT_EQ(made.text, "Exp Add RandomNormalLike RandomNormalLike Sub");
}

TEST(RecogniseSilu, FewerRoundings) {
  const auto made = run(R"(graph "g" (%x: f32[2, 8]) -> (%y) {
    %s: f32[*] = Sigmoid(%x) version 13 @"s" from ["s"]
    %y: f32[*] = Mul(%s, %x) version 14 @"m" from ["m"]
  })",
                        {recognise_silu()});
  EXPECT_EQ(made.text, "Swish");
  EXPECT_EQ(made.after.graph->nodes()[0]->provenance, (Provenance{"m", "s"}));
  EXPECT_LT(distance(made.before, made.after), 1e-6);
}

TEST(RecogniseSilu, AGateThatOthersReadStays) {
  const auto made = run(R"(graph "g" (%x: f32[2, 8]) -> (%y, %s) {
    %s: f32[*] = Sigmoid(%x) version 13 @"s" from ["s"]
    %y: f32[*] = Mul(%s, %x) version 14 @"m" from ["m"]
  })",
                        {recognise_silu()});
  EXPECT_EQ(made.text, "Sigmoid Mul");
}

TEST(FoldBatchNorm, IntoAConvolution) {
  const std::string graph = R"(graph "g" (%x: f32[1, 1, 3, 3]) -> (%y) {
    const %w = f32[2, 1, 1, 1] hex"0000003f000000c0"
    const %scale = f32[2] hex"0000c03f00004040"
    const %bias = f32[2] hex"0000803f000080bf"
    const %mean = f32[2] hex"0000003f0000803e"
    const %variance = f32[2] hex"000000400000803f"
    %c: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
    %y: f32[*] = BatchNormalization(%c, %scale, %bias, %mean, %variance) version 15 @"bn" from ["bn"]
  })";
  const auto made = run(graph, {fold_batch_norm(), remove_dead_code()});
  EXPECT_EQ(made.text, "Conv");
  EXPECT_EQ(made.after.graph->nodes()[0]->provenance, (Provenance{"bn", "conv"}));
  EXPECT_LT(distance(made.before, made.after), 1e-6);
}

TEST(FuseEpilogues, TheChainAsFarAsTheBackendCan) {
  const auto no_tanh = [](const Node&, const Node& next, const Value&) { return next.op != "Tanh"; };
  const auto made = run(R"(graph "g" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[4, 5]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %a: f32[*] = Add(%p, %r) version 14 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 14 @"b" from ["b"]
    %y: f32[*] = Tanh(%b) version 13 @"y" from ["y"]
  })",
                        {fuse_epilogues(no_tanh)});
  EXPECT_EQ(made.text, "matmul(MatMul Add Relu) Tanh");
  EXPECT_EQ(distance(made.before, made.after), 0);
}

TEST(FuseEpilogues, AnAddThatWidensTheResultIsNoEpilogue) {
  const auto made = run(R"(graph "g" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[2, 4, 5]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Add(%p, %r) version 14 @"a" from ["a"]
  })",
                        {fuse_epilogues([](const Node&, const Node&, const Value&) { return true; })});
  EXPECT_EQ(made.text, "MatMul Add");
}

TEST(Passes, CanBeSwitchedOffByNameAndByClass) {
  const std::string graph = R"(graph "g" (%x: f32[2, 8]) -> (%y) {
    %s: f32[*] = Sigmoid(%x) version 13 @"s" from ["s"]
    %y: f32[*] = Mul(%s, %x) version 14 @"m" from ["m"]
  })";
  Model model = parse_graph(graph);
  EXPECT_TRUE(run_passes(*model.graph, {recognise_silu()}, {.disabled = {"recognise-silu"}, .forbidden = {}})
                  .empty());
  EXPECT_TRUE(run_passes(*model.graph, {recognise_silu()},
                         {.disabled = {}, .forbidden = {NumericalClass::kReassociating}})
                  .empty());
}

}  // namespace
}  // namespace vernier
