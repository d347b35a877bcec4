// Operators that are written as others: Einsum, and what com.microsoft fuses.
#include <gmock/gmock.h>

#include "passes/rewriting.h"

namespace vernier {
namespace {

Model einsum(const std::string& equation, const std::string& a, const std::string& b) {
  return parse_graph("graph \"g\" (%a: f32[" + a + "], %b: f32[" + b + R"(]) -> (%y) {
    %y: f32[*] = Einsum(%a, %b) {equation = ")" +
                     equation + R"("} version 12 @"einsum" from ["einsum"]
  })");
}

void expect(const std::string& equation, const std::string& a, const std::string& b,
            const std::string& operators_after) {
  const Model before = einsum(equation, a, b);
  Model after = einsum(equation, a, b);
  EXPECT_EQ(rewrite(after, {lower_einsum()}).at("lower-einsum"), 1) << equation;
  EXPECT_EQ(operators(*after.graph), operators_after) << equation;
  EXPECT_LT(distance(before, after), 1e-6) << equation;
}

TEST(LowerEinsum, MatrixProducts) {
  expect("ij,jk->ik", "2, 3", "3, 4", "MatMul");
  expect("ij,jk", "2, 3", "3, 4", "MatMul");
  expect("ij,jk->ki", "2, 3", "3, 4", "Transpose Transpose MatMul");
  expect("b h i d, b h j d -> b h i j", "2, 3, 4, 5", "2, 3, 6, 5", "Transpose MatMul");
  expect("bhij,bhjd->bhid", "2, 3, 4, 5", "2, 3, 5, 6", "MatMul");
  expect("bhij,bhjd->bihd", "2, 3, 4, 5", "2, 3, 5, 6", "MatMul Transpose");
  expect("...ij,...jk->...ik", "7, 2, 3", "7, 3, 4", "MatMul");
}

TEST(LowerEinsum, GroupsOfLabelsBecomeOneAxis) {
  expect("abc,cd->abd", "2, 3, 4", "4, 5", "Reshape Reshape MatMul Reshape");
  expect("abcd,cde->abe", "2, 3, 4, 5", "4, 5, 6", "Reshape Reshape MatMul Reshape");
  expect("i,j->ij", "3", "4", "Reshape Reshape MatMul Reshape");
  expect("i,i->", "3", "3", "Reshape Reshape MatMul Reshape");
  expect("bi,bi->b", "2, 3", "2, 3", "Reshape Reshape MatMul Reshape");
}

TEST(LowerEinsum, WhatIsNoProductStays) {
  for (const auto& [equation, a, b] :
       std::vector<std::array<std::string, 3>>{{"ii,ij->j", "3, 3", "3, 4"},      // a diagonal
                                               {"ij,jk->k", "2, 3", "3, 4"},      // a sum of one operand
                                               {"ij,jk->ik", "2, 1", "3, 4"}}) {  // a broadcast
    Model model = einsum(equation, a, b);
    EXPECT_TRUE(rewrite(model, {lower_einsum()}).empty()) << equation;
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
  const auto check = [](const std::string& inputs, const std::string& attributes,
                        const std::string& operators_after) {
    const Model before = fused_conv(inputs, attributes);
    Model after = fused_conv(inputs, attributes);
    EXPECT_EQ(rewrite(after, {expand_fused_conv()}).at("expand-fused-conv"), 1);
    EXPECT_EQ(operators(*after.graph), operators_after);
    EXPECT_LT(distance(before, after), 1e-6) << attributes;
  };
  check("%x, %w", "group = 1", "Conv");
  check("%x, %w, %b", "activation = \"Relu\"", "Conv Relu");
  check("%x, %w, %b, %z", "activation = \"Relu\"", "Conv Add Relu");
  check("%x, %w, %b, %z", "group = 1", "Conv Add");
  check("%x, %w, %b", "activation = \"Clip\", activation_params = floats[-0.5, 1.0]", "Conv Clip");
  check("%x, %w, %b", "activation = \"HardSigmoid\", activation_params = floats[0.3, 0.4]",
        "Conv HardSigmoid");
  check("%x, %w", "activation = \"LeakyRelu\", activation_params = floats[0.25]", "Conv LeakyRelu");
}

// What is left of one node of com.microsoft, having compared the numbers.
std::string lowered(const std::string& inputs, const std::string& outputs, const std::string& node,
                    const NamedData& given = {}) {
  const std::string text =
      "graph \"g\" (" + inputs + ") -> (" + outputs + ") {\n" + node + " version 1 @\"n\" from [\"n\"]\n}";
  const Model before = parse_graph(text);
  Model after = parse_graph(text);
  rewrite(after, {lower_microsoft(), remove_dead_code()});
  NamedData data = random_data(*before.graph, 1);
  for (const auto& [name, datum] : given) data[name] = datum;
  const auto a = run_reference(before, data).outputs, b = run_reference(after, data).outputs;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tensor.dims(), b[i].tensor.dims());
    const auto x = a[i].tensor.to_doubles(), y = b[i].tensor.to_doubles();
    for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 1e-5) << "output " << i << " at " << k;
  }
  return operators(*after.graph);
}

TEST(LowerMicrosoft, AttentionWithItsProjection) {
  const std::string operands = "%x: f32[2, 3, 10], %w: f32[10, 36], %b: f32[36]";
  EXPECT_EQ(lowered(operands, "%y", "%y: f32[*] = com.microsoft::Attention(%x, %w, %b) {num_heads = 3}"),
            "MatMul Add Split MultiHeadAttention");
  EXPECT_EQ(lowered(operands, "%y",
                    "%y: f32[*] = com.microsoft::Attention(%x, %w) {num_heads = 2, scale = float 0.3, "
                    "qkv_hidden_sizes = ints[14, 14, 8], unidirectional = 1}"),
            "MatMul Split MultiHeadAttention");
  EXPECT_EQ(lowered(operands + ", %m: i32[2], %p: f32[2, 2, 3, 5, 4]", "%y, %q",
                    "%y: f32[*], %q: f32[*] = com.microsoft::Attention(%x, %w, %b, %m, %p) {num_heads = 3}",
                    {{"m", Tensor::from_ints(ElementType::kInt32, {2}, std::vector<int64_t>{8, 6})}}),
            "MatMul Add Split Split Squeeze Squeeze MultiHeadAttention Unsqueeze Unsqueeze Concat");
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
  EXPECT_THAT(
      lowered(operands, "%y, %n, %s", "%y: f32[*], %n: i32[*], %s: f32[*] = " + node + ", %mask)", data),
      testing::HasSubstr("LayerNormalization"));
  EXPECT_THAT(lowered(operands, "%y, %n", "%y: f32[*], %n: i32[*] = " + node + ")", data),
              testing::HasSubstr("LayerNormalization Shape ConstantOfShape"));
}

}  // namespace
}  // namespace vernier
