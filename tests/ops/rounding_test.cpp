// Tests what a run of the reference says of the coarsest rounding on the way.
#include <gmock/gmock.h>

#include <array>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/text.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// The graph goes from %x: f32[2] and a scale %s to %y, and `body` has its nodes.
double unit_roundoff_of(const std::string& body) {
  Model model = parse_model(
      "model ir=10 opset \"\" 21 {\ngraph \"main\" (%x: f32[2], %s: f32[]) -> (%y) {\n" + body + "\n}\n}\n");
  ops::infer_types(*model.graph);
  const Tensor x = Tensor::from<float>(ElementType::kFloat, {2}, {1, -3});
  return run_reference(model, {{"x", x}, {"s", Tensor::from<float>(ElementType::kFloat, {}, {0.5F})}})
      .unit_roundoff;
}

TEST(UnitRoundoff, IsThatOfTheCoarsestTypeStored) {
  EXPECT_EQ(unit_roundoff_of(R"(%y: f32[2] = Exp(%x) version 13 @"a" from ["a"])"), 0x1p-24);
  EXPECT_EQ(unit_roundoff_of(R"(%y: f32[2] = Relu(%x) version 14 @"a" from ["a"])"), 0);  // rounds nothing
  EXPECT_EQ(unit_roundoff_of(R"(
    %n: bf16[2] = Cast(%x) {to = 16} version 21 @"a" from ["a"]
    %y: f32[2] = Cast(%n) {to = 1} version 21 @"b" from ["b"])"),
            0x1p-8);
}

TEST(UnitRoundoff, CountsQuantizedValuesButNotSizesAndIndices) {
  EXPECT_EQ(unit_roundoff_of(R"(
    %q: u8[2] = QuantizeLinear(%x, %s) version 21 @"a" from ["a"]
    %y: f32[2] = DequantizeLinear(%q, %s) version 21 @"b" from ["b"])"),
            0x1p-8);
  EXPECT_EQ(unit_roundoff_of(R"(
    %i: i8[2] = Cast(%x) {to = 3} version 21 @"a" from ["a"]
    %y: f32[2] = Cast(%i) {to = 1} version 21 @"b" from ["b"])"),
            0);
}

// In ideal mode a node reads floats as double, however they are stored.
TEST(Evaluate, ConvertsFloatsForTheIdealMode) {
  Graph graph;
  Node node;
  node.op = "Expand";
  node.version = 13;
  node.inputs = {graph.add_input("x", ValueType::of(ElementType::kFloat16, to_shape({2, 1}))),
                 graph.add_input("to", ValueType::of(ElementType::kInt64, to_shape({2})))};
  node.outputs = {graph.add_value("y")};
  const Tensor x = Tensor::from_doubles(ElementType::kFloat16, {2, 1}, std::array{1.0, -3.0});
  const Tensor to = Tensor::from_ints(ElementType::kInt64, {2}, std::array<int64_t, 2>{2, 2});
  const Tensor y = ops::evaluate(node, {&x, &to}, ops::ReferenceMode::kIdeal).at(0).tensor;
  EXPECT_EQ(y.type(), ElementType::kDouble);
  EXPECT_THAT(y.to_doubles(), testing::ElementsAre(1, 1, -3, -3));
}

}  // namespace
}  // namespace vernier
