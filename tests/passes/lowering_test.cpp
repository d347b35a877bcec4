// Operators that are written as others: Einsum, FusedConv.
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

}  // namespace
}  // namespace vernier
