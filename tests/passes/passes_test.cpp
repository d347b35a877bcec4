// The general passes: what they rewrite, what they leave, and that the reference agrees before and after.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

TEST(FoldConstants, ShapeArithmeticAndConstantsGo) {
  expect_pass({fold_constants()}, R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    const %minus = i64[1] hex"ffffffffffffffff"
    const %a = f32[4] hex"0000803f000000400000404000008040"
    %shape: i64[*] = Shape(%x) {end = 1} version 24 @"shape" from ["shape"]
    %to: i64[*] = Concat(%shape, %minus) {axis = 0} version 13 @"concat" from ["concat"]
    %b: f32[*] = Sqrt(%a) version 13 @"sqrt" from ["sqrt"]
    %c: f32[*] = Mul(%x, %b) version 14 @"mul" from ["mul"]
    %y: f32[*] = Reshape(%c, %to) version 24 @"reshape" from ["reshape"]
  })",
              R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
      const %to/constant = i64[2] hex"0200000000000000ffffffffffffffff"
      const %b/constant = f32[4] hex"0000803ff304b53fd7b3dd3f00000040"
      %c: f32[2, 3, 4] = Mul(%x, %b/constant) version 14 @"mul" from ["mul"]
      %y: f32[2, 12] = Reshape(%c, %to/constant) version 24 @"reshape" from ["reshape"]
  })");
}

TEST(FoldConstants, ADefaultOfAnInputIsNoConstant) {
  Model model = parse_graph(R"(graph "g" (%x: f32[2]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"exp" from ["exp"]
  })");
  model.graph->inputs[0]->constant = Tensor::from<float>(ElementType::kFloat, {2}, {1, 2});
  expect_unchanged({fold_constants()}, model);
}

TEST(RemoveDeadCode, WhatNobodyReadsGoes) {
  expect_pass({remove_dead_code()}, R"(graph "g" (%x: f32[2]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Neg(%a) version 13 @"b" from ["b"]
    %y: f32[*] = Abs(%x) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2]) -> (%y) {
      %y: f32[2] = Abs(%x) version 13 @"y" from ["y"]
  })");
}

TEST(RemoveDeadCode, WhatARegionReadsStays) {
  expect_unchanged({remove_dead_code()}, R"(graph "g" (%x: f32[2], %c: bool[]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %y: f32[*] = If(%c) version 25 @"if" from ["if"] regions {
      then_branch = graph "then" () -> (%t) { %t: f32[*] = Neg(%a) version 13 @"t" from ["t"] }
      else_branch = graph "else" () -> (%e) { %e: f32[*] = Abs(%x) version 13 @"e" from ["e"] }
    }
  })");
}

TEST(RemoveDeadCode, OutputsThatNobodyReadsAreLeftOut) {
  expect_pass({remove_dead_code()},
              R"(graph "g" (%x: f32[4, 3, 2], %w: f32[1, 8, 2], %r: f32[1, 8, 2]) -> (%y, %z) {
    const %one = i64[1] hex"0100000000000000"
    %all: f32[*], %h: f32[*], %c: f32[*] = LSTM(%x, %w, %r) {hidden_size = 2} version 14 @"l" from ["l"]
    %y: f32[*] = Exp(%h) version 13 @"y" from ["y"]
    %a: f32[*], %i: i64[*] = MaxPool(%x) {kernel_shape = ints[2]} version 22 @"a" from ["a"]
    %b: f32[*], %k: i64[*] = TopK(%a, %one) version 11 @"b" from ["b"]
    %z: f32[*] = Exp(%b) version 13 @"z" from ["z"]
  })",
              R"(graph "g" (%x: f32[4, 3, 2], %w: f32[1, 8, 2], %r: f32[1, 8, 2]) -> (%y, %z) {
      const %one = i64[1] hex"0100000000000000"
      _, %h: f32[1, 3, 2] = LSTM(%x, %w, %r) {hidden_size = 2} version 14 @"l" from ["l"]
      %y: f32[1, 3, 2] = Exp(%h) version 13 @"y" from ["y"]
      %a: f32[4, 3, 1] = MaxPool(%x) {kernel_shape = ints[2]} version 22 @"a" from ["a"]
      %b: f32[4, 3, 1], %k: i64[4, 3, 1] = TopK(%a, %one) version 11 @"b" from ["b"]
      %z: f32[4, 3, 1] = Exp(%b) version 13 @"z" from ["z"]
  })");
}

TEST(RemoveIdentities, OutputsKeepTheirNames) {
  expect_pass({remove_identities()}, R"(graph "g" (%x: f32[2]) -> (%y, %z) {
    %a: f32[*] = Identity(%x) version 24 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"b" from ["b"]
    %z: f32[*] = Identity(%y) version 24 @"c" from ["c"]
  })",
              R"(graph "g" (%x: f32[2]) -> (%y, %z) {
      %y: f32[2] = Exp(%x) version 13 @"b" from ["b"]
      %z: f32[2] = Identity(%y) version 24 @"c" from ["c"]
  })");
}

TEST(RemoveIdentities, ACastThatRoundsStays) {
  expect_pass({remove_identities()}, R"(graph "g" (%x: f32[2]) -> (%y) {
    %a: f16[*] = Cast(%x) {to = 10} version 24 @"a" from ["a"]
    %b: f32[*] = Cast(%a) {to = 1} version 24 @"b" from ["b"]
    %c: f32[*] = Cast(%b) {to = 1} version 24 @"c" from ["c"]
    %y: f32[*] = Neg(%c) version 13 @"d" from ["d"]
  })",
              R"(graph "g" (%x: f32[2]) -> (%y) {
      %a: f16[2] = Cast(%x) {to = 10} version 24 @"a" from ["a"]
      %b: f32[2] = Cast(%a) {to = 1} version 24 @"b" from ["b", "c"]
      %y: f32[2] = Neg(%b) version 13 @"d" from ["d"]
  })");
}

TEST(RemoveIdentities, CastLikeBecomesCastAndIsFolded) {
  expect_pass({remove_identities(), {}, {fold_constants()}}, R"(graph "g" (%x: f16[2]) -> (%y) {
    const %one = f32[] hex"0000803f"
    %l: f16[*] = CastLike(%one, %x) version 15 @"l" from ["l"]
    %y: f16[*] = Add(%x, %l) version 14 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f16[2]) -> (%y) {
      const %l/constant = f16[] hex"003c"
      %y: f16[2] = Add(%x, %l/constant) version 14 @"y" from ["y"]
  })");
  expect_pass({remove_identities()}, R"(graph "g" (%x: f32[2], %like: f16[3]) -> (%y) {
    %y: f16[*] = CastLike(%x, %like) version 21 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2], %like: f16[3]) -> (%y) {
      %y: f16[2] = Cast(%x) {to = 10} version 21 @"y" from ["y"]
  })");
}

// As exporters guard a softmax against rows that are masked as a whole; with quantizers between.
TEST(RemoveIdentities, WhatIsNeverNaNNeedsNoOther) {
  const auto guarded = [](const std::string& from, const std::string& made) {
    return R"(graph "g" (%x: )" + from + R"([2, 3], %c: f32[]) -> (%y) {
    const %scale = f32[] hex"0000003f"
    %a: f32[*] = )" +
           made + R"( version 21 @"a" from ["a"]
    %b: bool[*] = IsNaN(%a) version 20 @"b" from ["b"]
    %w: f32[*] = Where(%b, %c, %a) version 16 @"c" from ["c"]
    %y: f32[*] = Neg(%w) version 13 @"d" from ["d"]
  })";
  };
  expect_pass({remove_identities(), {}, {remove_dead_code()}}, guarded("u8", "DequantizeLinear(%x, %scale)"),
              R"(graph "g" (%x: u8[2, 3], %c: f32[]) -> (%y) {
      const %scale = f32[] hex"0000003f"
      %a: f32[2, 3] = DequantizeLinear(%x, %scale) version 21 @"a" from ["a", "c"]
      %y: f32[2, 3] = Neg(%a) version 13 @"d" from ["d"]
  })");
  expect_unchanged({remove_identities()}, guarded("f32", "Mul(%x, %scale)"));
  expect_unchanged({remove_identities()}, guarded("f8e4m3fn", "DequantizeLinear(%x, %scale)"));
}

TEST(RemoveIdentities, QuantizingAgainAlikeYieldsTheSame) {
  const auto again = [](const std::string& zero, const std::string& scale, const std::string& second) {
    return R"(graph "g" (%x: u8[2, 3]) -> (%y) {
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
  })";
  };
  expect_pass({remove_identities(), {}, {remove_dead_code()}}, again("07", "0ad7233c", ", %w"),
              R"(graph "g" (%x: u8[2, 3]) -> (%y) {
      const %s = f32[] hex"0ad7233c"
      const %w = u8[] hex"07"
      %y: f32[2, 3] = DequantizeLinear(%x, %s, %w) version 21 @"c" from ["c"]
  })");
  expect_unchanged({remove_identities()}, again("08", "0ad7233c", ", %w"));  // another zero point
  expect_unchanged({remove_identities()}, again("07", "0bd7233c", ", %w"));  // another scale
  expect_unchanged({remove_identities()}, again("07", "0ad7233c", ""));      // 0
}

TEST(MergeCommonNodes, EqualNodesBecomeOne) {
  expect_pass({merge_common_nodes()}, R"(graph "g" (%x: f32[2]) -> (%y) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[*] = Exp(%x) version 13 @"b" from ["b"]
    %y: f32[*] = Add(%a, %b) version 14 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[2]) -> (%y) {
      %a: f32[2] = Exp(%x) version 13 @"a" from ["a", "b"]
      %y: f32[2] = Add(%a, %a) version 14 @"y" from ["y"]
  })");
}

TEST(MergeCommonNodes, ConstantsOfEqualContentAreOne) {
  const auto graph = [](const std::string& second) {
    return R"(graph "g" (%x: f32[3], %c: bool[3]) -> (%y) {
    const %zero = f32[] hex"00000000"
    const %w = f32[] hex")" +
           second + R"("
    %a: f32[*] = Where(%c, %x, %zero) version 16 @"a" from ["a"]
    %b: f32[*] = Where(%c, %x, %w) version 16 @"b" from ["b"]
    %y: f32[*] = Add(%a, %b) version 14 @"y" from ["y"]
  })";
  };
  expect_pass({merge_common_nodes()}, graph("00000000"),
              R"(graph "g" (%x: f32[3], %c: bool[3]) -> (%y) {
    const %zero = f32[] hex"00000000"
    %a: f32[3] = Where(%c, %x, %zero) version 16 @"a" from ["a", "b"]
    %y: f32[3] = Add(%a, %a) version 14 @"y" from ["y"]
  })");
  expect_unchanged({merge_common_nodes()}, graph("00000080"));  // -0
}

// Whoever runs the model may give one of them another content.
TEST(MergeCommonNodes, InputsWithEqualDefaultsAreTwo) {
  Model model = parse_graph(R"(graph "g" (%x: f32[3], %c: bool[3], %a: f32[], %b: f32[]) -> (%y) {
    %p: f32[*] = Where(%c, %x, %a) version 16 @"p" from ["p"]
    %q: f32[*] = Where(%c, %x, %b) version 16 @"q" from ["q"]
    %y: f32[*] = Add(%p, %q) version 14 @"y" from ["y"]
  })");
  for (const size_t input : {2, 3}) model.graph->inputs[input]->constant = Tensor(ElementType::kFloat, {});
  EXPECT_EQ(merge_common_nodes().run(*model.graph), 0);
}

TEST(MergeCommonNodes, RandomNodesAndOtherAttributesStay) {
  expect_unchanged({merge_common_nodes()}, R"(graph "g" (%x: f32[2, 3]) -> (%r, %u) {
    %s: f32[*] = RandomNormalLike(%x) version 24 @"s" from ["s"]
    %t: f32[*] = RandomNormalLike(%x) version 24 @"t" from ["t"]
    %r: f32[*] = Sub(%s, %t) version 14 @"r" from ["r"]
    %a: f32[*] = Softmax(%x) {axis = 0} version 13 @"a" from ["a"]
    %b: f32[*] = Softmax(%x) {axis = 1} version 13 @"b" from ["b"]
    %u: f32[*] = Sub(%a, %b) version 14 @"u" from ["u"]
  })");
}

TEST(MergeSizes, WhatFollowsFromSizesAlikeBecomesOne) {
  Model model = parse_graph(R"(graph "g" (%x: f32[n, 4], %z: f32[]) -> (%y, %s) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %s: i64[*] = Shape(%x) version 24 @"s" from ["s"]
    %t: i64[*] = Shape(%a) version 24 @"t" from ["t"]
    %b: f32[*] = Expand(%z, %t) version 13 @"b" from ["b"]
    %y: f32[*] = Add(%b, %a) version 14 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  EXPECT_EQ(merge_sizes().run(*model.graph), 1);
  const Node& expand = *model.graph->nodes()[3];
  EXPECT_EQ(expand.input(1)->name, "s");
  EXPECT_EQ(model.graph->outputs[1]->name, "s");
  EXPECT_EQ(remove_dead_code().run(*model.graph), 1);
  const NamedData data{{"x", Tensor(ElementType::kFloat, {3, 4})}, {"z", Tensor(ElementType::kFloat, {})}};
  EXPECT_EQ(run_reference(model, data).outputs[0].as_tensor().to_doubles(), std::vector<double>(12, 1));
}

TEST(MergeSizes, OutputsAndOtherSizesStay) {
  expect_unchanged({merge_sizes()}, R"(graph "g" (%x: f32[n, 4], %z: f32[m, 4]) -> (%s, %t, %u) {
    %s: i64[*] = Shape(%x) version 24 @"s" from ["s"]
    %t: i64[*] = Shape(%x) {end = 2} version 24 @"t" from ["t"]
    %u: i64[*] = Shape(%z) version 24 @"u" from ["u"]
  })");
}

TEST(RecogniseSilu, FewerRoundings) {
  expect_pass({recognise_silu()}, R"(graph "g" (%x: f32[2, 8]) -> (%y) {
    %s: f32[*] = Sigmoid(%x) version 13 @"s" from ["s"]
    %y: f32[*] = Mul(%s, %x) version 14 @"m" from ["m"]
  })",
              R"(graph "g" (%x: f32[2, 8]) -> (%y) {
      %y: f32[2, 8] = Swish(%x) version 24 @"m" from ["m", "s"]
  })");
}

TEST(RecogniseSilu, AGateThatOthersReadStays) {
  expect_unchanged({recognise_silu()}, R"(graph "g" (%x: f32[2, 8]) -> (%y, %s) {
    %s: f32[*] = Sigmoid(%x) version 13 @"s" from ["s"]
    %y: f32[*] = Mul(%s, %x) version 14 @"m" from ["m"]
  })");
}

TEST(FuseEpilogues, TheChainAsFarAsTheBackendCan) {
  expect_pass({fuse_epilogues([](const Node&, const Node& next, const Value&) { return next.op != "Tanh"; })},
              R"(graph "g" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[4, 5]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %a: f32[*] = Add(%p, %r) version 14 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 14 @"b" from ["b"]
    %y: f32[*] = Tanh(%b) version 13 @"y" from ["y"]
  })",
              R"(graph "g" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[4, 5]) -> (%y) {
      %b: f32[4, 5] = vernier::Group(%x, %w, %r) {kind = "matmul"} version 1 @"b" from ["a", "b", "p"] regions {
        body =
        graph "matmul" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[4, 5]) -> (%b) {
          %p: f32[4, 5] = MatMul(%x, %w) version 13 @"p" from ["p"]
          %a: f32[4, 5] = Add(%p, %r) version 14 @"a" from ["a"]
          %b: f32[4, 5] = Relu(%a) version 14 @"b" from ["b"]
        }
      }
      %y: f32[4, 5] = Tanh(%b) version 13 @"y" from ["y"]
  })");
}

TEST(FuseEpilogues, AnAddThatWidensTheResultIsNoEpilogue) {
  expect_unchanged({fuse_epilogues([](const Node&, const Node&, const Value&) { return true; })},
                   R"(graph "g" (%x: f32[4, 3], %w: f32[3, 5], %r: f32[2, 4, 5]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Add(%p, %r) version 14 @"a" from ["a"]
  })");
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
