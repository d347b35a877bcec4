// Tests what a run of the reference says of the coarsest rounding on the way.
#include <gtest/gtest.h>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/text.h"
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

}  // namespace
}  // namespace vernier
