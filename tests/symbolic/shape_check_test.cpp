// The symbolic check itself: it must fail where inference is wrong.
#include "symbolic/shape_check.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

Model model_of() {
  Model model = parse_model(R"(model ir=8 opset "" 17 {
  graph "g" (%x: f32[N, 4]) -> (%y) {
    %a: f32[*] = Concat(%x, %x) {axis = 0} version 13 @"a" from ["a"]
    %y: f32[*] = Exp(%a) version 13 @"y" from ["y"]
  }
})");
  ops::infer_types(*model.graph);
  return model;
}

ShapeFindings run(const Model& model) {
  return check_shapes(model, {{"x", Tensor(ElementType::kFloat, {3, 4})}});
}

TEST(ShapeCheck, TrueShapesPass) {
  EXPECT_TRUE(run(model_of()).is_exact());
}

TEST(ShapeCheck, AWrongExpressionIsAMismatch) {
  Model model = model_of();
  Value* a = model.graph->nodes()[0]->output(0);
  ASSERT_EQ(a->type.text(), "f32[2*N, 4]");
  a->type.tensor.shape = Shape{Dim::symbol("N") + 3, 4};  // right for N = 3 alone
  EXPECT_TRUE(run(model).mismatches.empty());
  a->type.tensor.shape = Shape{Dim::symbol("N") + 1, 4};
  ASSERT_EQ(run(model).mismatches.size(), 1U);
  EXPECT_NE(run(model).mismatches[0].find("Concat 'a'"), std::string::npos);
}

TEST(ShapeCheck, AWrongRankOrTypeIsAMismatch) {
  Model model = model_of();
  Value* a = model.graph->nodes()[0]->output(0);
  a->type.tensor.shape = Shape{Dim::symbol("N") * 2};
  EXPECT_EQ(run(model).mismatches.size(), 1U);
  a->type = ValueType::of(ElementType::kDouble, Shape{Dim::symbol("N") * 2, 4});
  EXPECT_FALSE(run(model).mismatches.empty());
}

TEST(ShapeCheck, AnUnknownRankIsCounted) {
  Model model = model_of();
  model.graph->nodes()[0]->output(0)->type.tensor.shape.reset();
  const auto findings = run(model);
  EXPECT_TRUE(findings.mismatches.empty());
  EXPECT_EQ(findings.unknown_rank.at("Concat"), 1);
  EXPECT_FALSE(findings.is_exact());
}

}  // namespace
}  // namespace vernier
