#include "profiles/free_sizes.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

Model model_of(const std::string& graph) {
  Model model = parse_model("model ir=8 opset \"\" 17 {\n  graph \"g\" " + graph + "\n}");
  ops::infer_types(*model.graph);
  return model;
}

std::string type_of(const FreedModel& freed, size_t input) {
  return freed.model.graph->inputs[input]->type.text();
}

TEST(FreeSizes, WhatNothingFixesIsFree) {
  const auto freed = free_sizes(model_of("(%x: f32[3, 4]) -> (%y) {\n"
                                         "  %y: f32[3, 4] = Exp(%x) version 13 @\"y\" from [\"y\"]\n}"),
                                {{{"x", {3, 4}}}});
  EXPECT_EQ(freed.why_none, "");
  EXPECT_EQ(type_of(freed, 0), "f32[x.0, x.1]");
  EXPECT_EQ(freed.model.graph->outputs[0]->type.text(), "f32[x.0, x.1]");
  EXPECT_FALSE(freed.model.graph->outputs[0]->declared);
  EXPECT_EQ(freed.freed, 2U);
  EXPECT_EQ(freed.moving, 2U);
  EXPECT_EQ(freed.at_recorded.text(), "x: 1..3..6x1..4..8");
  EXPECT_EQ(freed.at_others.text(), "x: 1..5..6x1..6..8");
  const std::vector<std::vector<InputShapes>> neighbours = {{{{"x", {1, 4}}}, {{"x", {6, 4}}}},
                                                            {{{"x", {3, 1}}}, {{"x", {3, 8}}}}};
  EXPECT_EQ(freed.neighbours, neighbours);
}

TEST(FreeSizes, WeightsFixWhatTheyMultiply) {
  const auto freed =
      free_sizes(model_of("(%x: f32[3, 2]) -> (%y) {\n  const %w = f32[2, 1] hex\"0000803f00000040\"\n"
                          "  %y: f32[3, 1] = MatMul(%x, %w) version 13 @\"y\" from [\"y\"]\n}"),
                 {{{"x", {3, 2}}}});
  EXPECT_EQ(type_of(freed, 0), "f32[x.0, 2]");
  EXPECT_EQ(freed.freed, 1U);
  EXPECT_EQ(freed.at_recorded.text(), "x: 1..3..6x2");
}

// At other sizes than 1 these meet only if both move.
TEST(FreeSizes, SizesThatMeetMoveTogether) {
  const auto freed =
      free_sizes(model_of("(%a: f32[3, 5], %b: f32[5, 3]) -> (%y) {\n"
                          "  %y: f32[3, 3] = MatMul(%a, %b) version 13 @\"y\" from [\"y\"]\n}"),
                 {{{"a", {3, 5}}, {"b", {5, 3}}}});
  EXPECT_EQ(freed.at_recorded.text(), "a: 1..3..6x1..5..10, b: 1..5..10x1..3..6");
  EXPECT_EQ(freed.neighbours.size(), 2U);  // the rows of a and the columns of b
  const auto odd = free_sizes(model_of("(%a: f32[3, 5], %b: f32[5, 2]) -> (%y) {\n"
                                       "  const %w = f32[3, 1] hex\"0000803f0000004000000040\"\n"
                                       "  %m: f32[3, 2] = MatMul(%a, %b) version 13 @\"m\" from [\"m\"]\n"
                                       "  %t: f32[2, 3] = Transpose(%m) version 13 @\"t\" from [\"t\"]\n"
                                       "  %y: f32[2, 1] = MatMul(%t, %w) version 13 @\"y\" from [\"y\"]\n}"),
                              {{{"a", {3, 5}}, {"b", {5, 2}}}});
  EXPECT_EQ(odd.at_recorded.text(), "a: 3x1..5..10, b: 1..5..10x1..2..4");
}

TEST(FreeSizes, TheRankOfAnOutputIsKept) {
  const auto freed =
      free_sizes(model_of("(%x: f32[2, 3], %shape: i64[2]) -> (%y) {\n"
                          "  %y: f32[*] = Reshape(%x, %shape) version 14 @\"y\" from [\"y\"]\n}"),
                 {{{"x", {2, 3}}, {"shape", {2}}}});
  EXPECT_EQ(type_of(freed, 0), "f32[x.0, x.1]");
  EXPECT_EQ(type_of(freed, 1), "i64[2]");
}

// Here only the content of an input tells the rank.
TEST(FreeSizes, ARankThatIsUnknownStaysSo) {
  const auto model = model_of(
      "(%x: f32[2, N], %axes: i64[M]) -> (%y) {\n"
      "  %y: f32[*] = Unsqueeze(%x, %axes) version 13 @\"y\" from [\"y\"]\n}");
  const auto freed = free_sizes(model, {{{"x", {2, 3}}, {"axes", {1}}}});
  EXPECT_EQ(freed.at_recorded.text(), "axes: 1..1..2, x: 1..2..4x1..3..6");
}

TEST(FreeSizes, AllDataSetsAreInTheProfiles) {
  const auto model =
      model_of("(%x: f32[N]) -> (%y) {\n  %y: f32[N] = Exp(%x) version 13 @\"y\" from [\"y\"]\n}");
  const auto freed = free_sizes(model, {{{"x", {3}}}, {{"x", {20}}}});
  EXPECT_EQ(freed.freed, 0U);
  EXPECT_EQ(freed.moving, 1U);
  EXPECT_EQ(freed.at_recorded.text(), "x: 1..3..20");
}

TEST(FreeSizes, InputsStaySmall) {
  const auto model = model_of(
      "(%x: f32[1, 6, 6]) -> (%y) {\n  %y: f32[1, 6, 6] = Exp(%x) version 13 @\"y\" from [\"y\"]\n}");
  const std::vector<InputShapes> recorded = {{{"x", {1, 6, 6}}}};
  EXPECT_EQ(free_sizes(model, recorded, 288).at_recorded.text(), "x: 1..1..2x1..6..12x1..6..12");
  EXPECT_EQ(free_sizes(model, recorded, 287).at_recorded.text(), "x: 1..1..2x1..6..12x1..6..7");
  EXPECT_EQ(free_sizes(model, recorded, 1).at_recorded.text(), "x: 1..1..2x1..6..6x1..6..6");
}

TEST(FreeSizes, WhyNothingIsFree) {
  const auto scalar =
      model_of("(%x: f32[]) -> (%y) {\n  %y: f32[] = Exp(%x) version 13 @\"y\" from [\"y\"]\n}");
  EXPECT_EQ(free_sizes(scalar, {{{"x", {}}}}).why_none, "no input is a tensor with dimensions");
  const auto weights = model_of(
      "(%x: f32[2]) -> (%y) {\n  const %w = f32[2, 1] hex\"0000803f00000040\"\n"
      "  %y: f32[1] = MatMul(%x, %w) version 13 @\"y\" from [\"y\"]\n}");
  EXPECT_EQ(free_sizes(weights, {{{"x", {2}}}}).why_none,
            "weights, attributes or other inputs fix every size");
  const auto shape = model_of(
      "(%s: i64[2]) -> (%y) {\n"
      "  %y: f32[*] = ConstantOfShape(%s) version 9 @\"y\" from [\"y\"]\n}");
  EXPECT_EQ(free_sizes(shape, {{{"s", {2}}}}).why_none,
            "inference, or the rank of an output, needs every size");
}

}  // namespace
}  // namespace vernier
