// Operators that are written as others: Einsum, and what com.microsoft fuses.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

Model einsum(const std::string& equation, const std::string& a, const std::string& b) {
  return parse_graph("graph \"g\" (%a: f32[" + a + "], %b: f32[" + b + R"(]) -> (%y) {
    %y: f32[*] = Einsum(%a, %b) {equation = ")" +
                     equation + R"("} version 12 @"einsum" from ["einsum"]
  })");
}

void expect(const std::string& equation, const std::string& a, const std::string& b, const std::string& after,
            int line = __builtin_LINE()) {
  expect_pass({lower_einsum()}, einsum(equation, a, b), after, line);
}

TEST(LowerEinsum, MatrixProducts) {
  expect("ij,jk->ik", "2, 3", "3, 4", R"(graph "g" (%a: f32[2, 3], %b: f32[3, 4]) -> (%y) {
      %y: f32[2, 4] = MatMul(%a, %b) version 13 @"y" from ["einsum"]
  })");
  expect("ij,jk", "2, 3", "3, 4", R"(graph "g" (%a: f32[2, 3], %b: f32[3, 4]) -> (%y) {
      %y: f32[2, 4] = MatMul(%a, %b) version 13 @"y" from ["einsum"]
  })");
  expect("ij,jk->ki", "2, 3", "3, 4", R"(graph "g" (%a: f32[2, 3], %b: f32[3, 4]) -> (%y) {
      %y/product: f32[2, 4] = MatMul(%a, %b) version 13 @"y/product" from ["einsum"]
      %y: f32[4, 2] = Transpose(%y/product) {perm = ints[1, 0]} version 14 @"y" from ["einsum"]
  })");
  expect("ji,kj->ik", "3, 2", "4, 3", R"(graph "g" (%a: f32[3, 2], %b: f32[4, 3]) -> (%y) {
      %y/product: f32[4, 2] = MatMul(%b, %a) version 13 @"y/product" from ["einsum"]
      %y: f32[2, 4] = Transpose(%y/product) {perm = ints[1, 0]} version 14 @"y" from ["einsum"]
  })");
  expect("b h i d, b h j d -> b h i j", "2, 3, 4, 5", "2, 3, 6, 5",
         R"(graph "g" (%a: f32[2, 3, 4, 5], %b: f32[2, 3, 6, 5]) -> (%y) {
      %y/moved: f32[2, 3, 5, 6] = Transpose(%b) {perm = ints[0, 1, 3, 2]} version 14 @"y/moved" from ["einsum"]
      %y: f32[2, 3, 4, 6] = MatMul(%a, %y/moved) version 13 @"y" from ["einsum"]
  })");
  expect("bhij,bhjd->bhid", "2, 3, 4, 5", "2, 3, 5, 6",
         R"(graph "g" (%a: f32[2, 3, 4, 5], %b: f32[2, 3, 5, 6]) -> (%y) {
      %y: f32[2, 3, 4, 6] = MatMul(%a, %b) version 13 @"y" from ["einsum"]
  })");
  expect("bhij,bhjd->bihd", "2, 3, 4, 5", "2, 3, 5, 6",
         R"(graph "g" (%a: f32[2, 3, 4, 5], %b: f32[2, 3, 5, 6]) -> (%y) {
      %y/product: f32[2, 3, 4, 6] = MatMul(%a, %b) version 13 @"y/product" from ["einsum"]
      %y: f32[2, 4, 3, 6] = Transpose(%y/product) {perm = ints[0, 2, 1, 3]} version 14 @"y" from ["einsum"]
  })");
  expect("...ij,...jk->...ik", "7, 2, 3", "7, 3, 4",
         R"(graph "g" (%a: f32[7, 2, 3], %b: f32[7, 3, 4]) -> (%y) {
      %y: f32[7, 2, 4] = MatMul(%a, %b) version 13 @"y" from ["einsum"]
  })");
}

TEST(LowerEinsum, GroupsOfLabelsBecomeOneAxis) {
  expect("abc,cd->abd", "2, 3, 4", "4, 5", R"(graph "g" (%a: f32[2, 3, 4], %b: f32[4, 5]) -> (%y) {
      const %y/folded/sizes = i64[2] hex"06000000000000000400000000000000"
      const %"y/folded'/sizes" = i64[2] hex"04000000000000000500000000000000"
      const %y/sizes = i64[3] hex"020000000000000003000000000000000500000000000000"
      %y/folded: f32[6, 4] = Reshape(%a, %y/folded/sizes) version 14 @"y/folded" from ["einsum"]
      %"y/folded'": f32[4, 5] = Reshape(%b, %"y/folded'/sizes") version 14 @"y/folded'" from ["einsum"]
      %y/product: f32[6, 5] = MatMul(%y/folded, %"y/folded'") version 13 @"y/product" from ["einsum"]
      %y: f32[2, 3, 5] = Reshape(%y/product, %y/sizes) version 14 @"y" from ["einsum"]
  })");
  expect("abcd,cde->abe", "2, 3, 4, 5", "4, 5, 6",
         R"(graph "g" (%a: f32[2, 3, 4, 5], %b: f32[4, 5, 6]) -> (%y) {
      const %y/folded/sizes = i64[2] hex"06000000000000001400000000000000"
      const %"y/folded'/sizes" = i64[2] hex"14000000000000000600000000000000"
      const %y/sizes = i64[3] hex"020000000000000003000000000000000600000000000000"
      %y/folded: f32[6, 20] = Reshape(%a, %y/folded/sizes) version 14 @"y/folded" from ["einsum"]
      %"y/folded'": f32[20, 6] = Reshape(%b, %"y/folded'/sizes") version 14 @"y/folded'" from ["einsum"]
      %y/product: f32[6, 6] = MatMul(%y/folded, %"y/folded'") version 13 @"y/product" from ["einsum"]
      %y: f32[2, 3, 6] = Reshape(%y/product, %y/sizes) version 14 @"y" from ["einsum"]
  })");
  expect("i,j->ij", "3", "4", R"(graph "g" (%a: f32[3], %b: f32[4]) -> (%y) {
      const %y/folded/sizes = i64[2] hex"03000000000000000100000000000000"
      const %"y/folded'/sizes" = i64[2] hex"01000000000000000400000000000000"
      const %y/sizes = i64[2] hex"03000000000000000400000000000000"
      %y/folded: f32[3, 1] = Reshape(%a, %y/folded/sizes) version 14 @"y/folded" from ["einsum"]
      %"y/folded'": f32[1, 4] = Reshape(%b, %"y/folded'/sizes") version 14 @"y/folded'" from ["einsum"]
      %y/product: f32[3, 4] = MatMul(%y/folded, %"y/folded'") version 13 @"y/product" from ["einsum"]
      %y: f32[3, 4] = Reshape(%y/product, %y/sizes) version 14 @"y" from ["einsum"]
  })");
  expect("i,i->", "3", "3", R"(graph "g" (%a: f32[3], %b: f32[3]) -> (%y) {
      const %y/folded/sizes = i64[2] hex"01000000000000000300000000000000"
      const %"y/folded'/sizes" = i64[2] hex"03000000000000000100000000000000"
      const %y/sizes = i64[0] hex""
      %y/folded: f32[1, 3] = Reshape(%a, %y/folded/sizes) version 14 @"y/folded" from ["einsum"]
      %"y/folded'": f32[3, 1] = Reshape(%b, %"y/folded'/sizes") version 14 @"y/folded'" from ["einsum"]
      %y/product: f32[1, 1] = MatMul(%y/folded, %"y/folded'") version 13 @"y/product" from ["einsum"]
      %y: f32[] = Reshape(%y/product, %y/sizes) version 14 @"y" from ["einsum"]
  })");
  expect("bi,bi->b", "2, 3", "2, 3", R"(graph "g" (%a: f32[2, 3], %b: f32[2, 3]) -> (%y) {
      const %y/folded/sizes = i64[3] hex"020000000000000001000000000000000300000000000000"
      const %"y/folded'/sizes" = i64[3] hex"020000000000000003000000000000000100000000000000"
      const %y/sizes = i64[1] hex"0200000000000000"
      %y/folded: f32[2, 1, 3] = Reshape(%a, %y/folded/sizes) version 14 @"y/folded" from ["einsum"]
      %"y/folded'": f32[2, 3, 1] = Reshape(%b, %"y/folded'/sizes") version 14 @"y/folded'" from ["einsum"]
      %y/product: f32[2, 1, 1] = MatMul(%y/folded, %"y/folded'") version 13 @"y/product" from ["einsum"]
      %y: f32[2] = Reshape(%y/product, %y/sizes) version 14 @"y" from ["einsum"]
  })");
}

TEST(LowerEinsum, WhatIsNoProductStays) {
  for (const auto& [equation, a, b] :
       std::vector<std::array<std::string, 3>>{{"ii,ij->j", "3, 3", "3, 4"},      // a diagonal
                                               {"ij,jk->k", "2, 3", "3, 4"},      // a sum of one operand
                                               {"ij,jk->ik", "2, 1", "3, 4"}}) {  // a broadcast
    expect_unchanged({lower_einsum()}, einsum(equation, a, b));
  }
}

Model fused_conv(const std::string& inputs, const std::string& attributes) {
  return parse_graph(
      R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
    %y: f32[*] = com.microsoft::FusedConv()" +
      inputs + ") {" + attributes + R"(} version 1 @"conv" from ["conv"]
  })");
}

TEST(ExpandFusedConv, ActivationAndResidual) {
  const auto check = [](const std::string& inputs, const std::string& attributes, const std::string& after) {
    expect_pass({expand_fused_conv()}, fused_conv(inputs, attributes), after);
  };
  check("%x, %w", "group = 1",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y: f32[1, 3, 3, 3] = Conv(%x, %w) {group = 1} version 11 @"y" from ["conv"]
  })");
  check("%x, %w, %b", "activation = \"Relu\"",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w, %b) version 11 @"y/convolved" from ["conv"]
      %y: f32[1, 3, 3, 3] = Relu(%y/convolved) version 6 @"y" from ["conv"]
  })");
  check("%x, %w, %b, %z", "activation = \"Relu\"",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w, %b) version 11 @"y/convolved" from ["conv"]
      %y/summed: f32[1, 3, 3, 3] = Add(%y/convolved, %z) version 14 @"y/summed" from ["conv"]
      %y: f32[1, 3, 3, 3] = Relu(%y/summed) version 6 @"y" from ["conv"]
  })");
  check("%x, %w, %b, %z", "group = 1",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w, %b) {group = 1} version 11 @"y/convolved" from ["conv"]
      %y: f32[1, 3, 3, 3] = Add(%y/convolved, %z) version 14 @"y" from ["conv"]
  })");
  check("%x, %w, %b", "activation = \"Clip\", activation_params = floats[-0.5, 1.0]",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w, %b) version 11 @"y/convolved" from ["conv"]
      %y: f32[1, 3, 3, 3] = Clip(%y/convolved) {max = float 1, min = float -0.5} version 6 @"y" from ["conv"]
  })");
  check("%x, %w, %b", "activation = \"HardSigmoid\", activation_params = floats[0.3, 0.4]",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w, %b) version 11 @"y/convolved" from ["conv"]
      %y: f32[1, 3, 3, 3] = HardSigmoid(%y/convolved) {alpha = float 0.3, beta = float 0.4} version 6 @"y" from ["conv"]
  })");
  check("%x, %w", "activation = \"LeakyRelu\", activation_params = floats[0.25]",
        R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %b: f32[3], %z: f32[1, 3, 3, 3]) -> (%y) {
      %y/convolved: f32[1, 3, 3, 3] = Conv(%x, %w) version 11 @"y/convolved" from ["conv"]
      %y: f32[1, 3, 3, 3] = LeakyRelu(%y/convolved) {alpha = float 0.25} version 6 @"y" from ["conv"]
  })");
}

TEST(ExpandFusedConv, AConvOfOnnxStays) {
  expect_unchanged({expand_fused_conv()}, R"(graph "g" (%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3]) -> (%y) {
    %y: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
  })");
}

Model one_node(const std::string& inputs, const std::string& outputs, const std::string& node) {
  return parse_graph("graph \"g\" (" + inputs + ") -> (" + outputs + ") {\n" + node +
                     " version 1 @\"n\" from [\"n\"]\n}");
}

void lower(const std::string& inputs, const std::string& outputs, const std::string& node,
           const std::string& after, const NamedData& given = {}, int line = __builtin_LINE()) {
  expect_pass({lower_microsoft(), {}, {remove_dead_code()}, given}, one_node(inputs, outputs, node), after,
              line);
}

TEST(LowerMicrosoft, AttentionWithItsProjection) {
  const std::string operands = "%x: f32[2, 3, 10], %w: f32[10, 36], %b: f32[36]";
  lower(operands, "%y", "%y: f32[*] = com.microsoft::Attention(%x, %w, %b) {num_heads = 3}",
        R"(graph "g" (%x: f32[2, 3, 10], %w: f32[10, 36], %b: f32[36]) -> (%y) {
      const %y/sizes = i64[3] hex"0c000000000000000c000000000000000c00000000000000"
      %y/MatMul: f32[2, 3, 36] = MatMul(%x, %w) version 13 @"y/MatMul" from ["n"]
      %y/Add: f32[2, 3, 36] = Add(%y/MatMul, %b) version 14 @"y/Add" from ["n"]
      %y/queries: f32[2, 3, 12], %y/keys: f32[2, 3, 12], %y/values: f32[2, 3, 12] = Split(%y/Add, %y/sizes) {axis = -1} version 13 @"y/queries" from ["n"]
      %y: f32[2, 3, 12] = com.microsoft::MultiHeadAttention(%y/queries, %y/keys, %y/values) {num_heads = 3} version 1 @"y" from ["n"]
  })");
  lower(operands, "%y",
        "%y: f32[*] = com.microsoft::Attention(%x, %w) {num_heads = 2, scale = float 0.3, "
        "qkv_hidden_sizes = ints[14, 14, 8], unidirectional = 1}",
        R"(graph "g" (%x: f32[2, 3, 10], %w: f32[10, 36], %b: f32[36]) -> (%y) {
      const %y/sizes = i64[3] hex"0e000000000000000e000000000000000800000000000000"
      %y/MatMul: f32[2, 3, 36] = MatMul(%x, %w) version 13 @"y/MatMul" from ["n"]
      %y/queries: f32[2, 3, 14], %y/keys: f32[2, 3, 14], %y/values: f32[2, 3, 8] = Split(%y/MatMul, %y/sizes) {axis = -1} version 13 @"y/queries" from ["n"]
      %y: f32[2, 3, 8] = com.microsoft::MultiHeadAttention(%y/queries, %y/keys, %y/values) {num_heads = 2, scale = float 0.3, unidirectional = 1} version 1 @"y" from ["n"]
  })");
  lower(
      operands + ", %m: i32[2], %p: f32[2, 2, 3, 5, 4]", "%y, %q",
      "%y: f32[*], %q: f32[*] = com.microsoft::Attention(%x, %w, %b, %m, %p) {num_heads = 3}",
      R"(graph "g" (%x: f32[2, 3, 10], %w: f32[10, 36], %b: f32[36], %m: i32[2], %p: f32[2, 2, 3, 5, 4]) -> (%y, %q) {
      const %y/sizes = i64[3] hex"0c000000000000000c000000000000000c00000000000000"
      const %"y/sizes'" = i64[2] hex"01000000000000000100000000000000"
      const %"y/sizes''" = i64[1] hex"0000000000000000"
      const %"y/sizes'''" = i64[1] hex"0000000000000000"
      const %"y/sizes''''" = i64[1] hex"0000000000000000"
      const %"y/sizes'''''" = i64[1] hex"0000000000000000"
      %y/MatMul: f32[2, 3, 36] = MatMul(%x, %w) version 13 @"y/MatMul" from ["n"]
      %y/Add: f32[2, 3, 36] = Add(%y/MatMul, %b) version 14 @"y/Add" from ["n"]
      %y/queries: f32[2, 3, 12], %y/keys: f32[2, 3, 12], %y/values: f32[2, 3, 12] = Split(%y/Add, %y/sizes) {axis = -1} version 13 @"y/queries" from ["n"]
      %y/past_keys: f32[1, 2, 3, 5, 4], %y/past_values: f32[1, 2, 3, 5, 4] = Split(%p, %"y/sizes'") {axis = 0} version 13 @"y/past_keys" from ["n"]
      %y/Squeeze: f32[2, 3, 5, 4] = Squeeze(%y/past_keys, %"y/sizes''") version 13 @"y/Squeeze" from ["n"]
      %"y/Squeeze'": f32[2, 3, 5, 4] = Squeeze(%y/past_values, %"y/sizes'''") version 13 @"y/Squeeze'" from ["n"]
      %y: f32[2, 3, 12], %y/keys_now: f32[2, 3, 8, 4], %y/values_now: f32[2, 3, 8, 4] = com.microsoft::MultiHeadAttention(%y/queries, %y/keys, %y/values, _, %m, _, %y/Squeeze, %"y/Squeeze'") {num_heads = 3} version 1 @"y" from ["n"]
      %y/Unsqueeze: f32[1, 2, 3, 8, 4] = Unsqueeze(%y/keys_now, %"y/sizes''''") version 13 @"y/Unsqueeze" from ["n"]
      %"y/Unsqueeze'": f32[1, 2, 3, 8, 4] = Unsqueeze(%y/values_now, %"y/sizes'''''") version 13 @"y/Unsqueeze'" from ["n"]
      %q: f32[2, 2, 3, 8, 4] = Concat(%y/Unsqueeze, %"y/Unsqueeze'") {axis = 0} version 13 @"q" from ["n"]
  })",
      {{"m", Tensor::from_ints(ElementType::kInt32, {2}, std::vector<int64_t>{8, 6})}});
}

TEST(LowerMicrosoft, OtherOperatorsStay) {
  expect_unchanged({lower_microsoft()},
                   one_node("%x: f32[2, 3]", "%y", "%y: f32[*] = com.microsoft::FastGelu(%x)"));
}

TEST(LowerMicrosoft, Embeddings) {
  const std::string operands =
      "%ids: i32[2, 3], %kinds: i32[2, 3], %words: f32[7, 4], %places: f32[5, 4], %tables: f32[2, 4], "
      "%g: f32[4], %b: f32[4], %mask: i32[2, 3]";
  const auto ids = [](const std::vector<int64_t>& values) {
    return Tensor::from_ints(ElementType::kInt32, {2, 3}, values);
  };
  const NamedData data = {{"ids", ids({0, 6, 3, 1, 1, 2})},
                          {"kinds", ids({0, 1, 1, 0, 0, 1})},
                          {"mask", ids({1, 1, 0, 1, 0, 0})}};
  const std::string node =
      "com.microsoft::EmbedLayerNormalization(%ids, %kinds, %words, %places, %tables, %g, %b";
  lower(
      operands, "%y, %n, %s", "%y: f32[*], %n: i32[*], %s: f32[*] = " + node + ", %mask)",
      R"(graph "g" (%ids: i32[2, 3], %kinds: i32[2, 3], %words: f32[7, 4], %places: f32[5, 4], %tables: f32[2, 4], %g: f32[4], %b: f32[4], %mask: i32[2, 3]) -> (%y, %n, %s) {
      const %y/sizes = i64[1] hex"0000000000000000"
      const %"y/sizes'" = i64[1] hex"0000000000000000"
      const %y/one = i32[] hex"01000000"
      const %"y/sizes''" = i64[1] hex"0100000000000000"
      %y/Shape: i64[1] = Shape(%ids) {start = 1} version 15 @"y/Shape" from ["n"]
      %y/Slice: f32[3, 4] = Slice(%places, %y/sizes, %y/Shape, %"y/sizes'") version 13 @"y/Slice" from ["n"]
      %y/Gather: f32[2, 3, 4] = Gather(%words, %ids) {axis = 0} version 13 @"y/Gather" from ["n"]
      %y/placed: f32[2, 3, 4] = Add(%y/Gather, %y/Slice) version 14 @"y/placed" from ["n"]
      %"y/Gather'": f32[2, 3, 4] = Gather(%tables, %kinds) {axis = 0} version 13 @"y/Gather'" from ["n"]
      %s: f32[2, 3, 4] = Add(%y/placed, %"y/Gather'") version 14 @"s" from ["n"]
      %y: f32[2, 3, 4] = LayerNormalization(%s, %g, %b) {axis = -1, epsilon = float 1e-12} version 17 @"y" from ["n"]
      %y/Equal: bool[2, 3] = Equal(%mask, %y/one) version 13 @"y/Equal" from ["n"]
      %y/Cast: i32[2, 3] = Cast(%y/Equal) {to = 6} version 13 @"y/Cast" from ["n"]
      %n: i32[2] = ReduceSum(%y/Cast, %"y/sizes''") {keepdims = 0} version 13 @"n" from ["n"]
  })",
      data);
  lower(
      operands, "%y, %n", "%y: f32[*], %n: i32[*] = " + node + ")",
      R"(graph "g" (%ids: i32[2, 3], %kinds: i32[2, 3], %words: f32[7, 4], %places: f32[5, 4], %tables: f32[2, 4], %g: f32[4], %b: f32[4], %mask: i32[2, 3]) -> (%y, %n) {
      const %y/sizes = i64[1] hex"0000000000000000"
      const %"y/sizes'" = i64[1] hex"0000000000000000"
      %y/Shape: i64[1] = Shape(%ids) {start = 1} version 15 @"y/Shape" from ["n"]
      %y/Slice: f32[3, 4] = Slice(%places, %y/sizes, %y/Shape, %"y/sizes'") version 13 @"y/Slice" from ["n"]
      %y/Gather: f32[2, 3, 4] = Gather(%words, %ids) {axis = 0} version 13 @"y/Gather" from ["n"]
      %y/placed: f32[2, 3, 4] = Add(%y/Gather, %y/Slice) version 14 @"y/placed" from ["n"]
      %"y/Gather'": f32[2, 3, 4] = Gather(%tables, %kinds) {axis = 0} version 13 @"y/Gather'" from ["n"]
      %y/sum: f32[2, 3, 4] = Add(%y/placed, %"y/Gather'") version 14 @"y/sum" from ["n"]
      %y: f32[2, 3, 4] = LayerNormalization(%y/sum, %g, %b) {axis = -1, epsilon = float 1e-12} version 17 @"y" from ["n"]
      %"y/Shape'": i64[1] = Shape(%ids) {end = 1} version 15 @"y/Shape'" from ["n"]
      %n: i32[2] = ConstantOfShape(%"y/Shape'") {value = tensor i32[1] hex"00000000"} version 9 @"n" from ["n"]
  })",
      data);
}

}  // namespace
}  // namespace vernier
