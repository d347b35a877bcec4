#include "vernier/diagnose/experiments/integer_kernels.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// A product of integers with a scale each, of which one is an input.
Model product() {
  Model model = parse_model(R"(model ir=8 opset "" 17 {
  graph "g" (%x: u8[2, 4], %s: f32[], %w: i8[4, 3], %z: f32[3]) -> (%y) {
    const %t = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %s) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %t) version 13 @"wd" from ["wd"]
    %y: f32[*] = Gemm(%xr, %wr, %z) version 13 @"p" from ["p"]
  }
  })");
  ops::infer_types(*model.graph);
  return model;
}

TEST(IntegerKernels, SumsHaveTheStepOfBothScales) {
  const Model model = product();
  const Graph& graph = *model.graph;
  const Node& gemm = *graph.nodes().back();
  const std::vector<Tensor> inputs{Tensor(),
                                   Tensor::from_doubles(ElementType::kFloat, {}, std::vector<double>{0.25})};
  EXPECT_EQ(integer_sum_step(gemm, inputs), 0.125);
  EXPECT_EQ(integer_sum_step(gemm), 0);  // where a scale is not known
  EXPECT_EQ(integer_sum_step(*graph.nodes().front(), inputs), 0);
}

TEST(IntegerKernels, OnlyThoseThatSumIntegersRoundTheBias) {
  NumericsContract contract;
  contract.accumulated = ElementType::kInt32;
  EXPECT_TRUE(may_sum_integers(&contract));
  EXPECT_TRUE(may_sum_integers(nullptr));
  contract.accumulated = ElementType::kFloat;
  EXPECT_FALSE(may_sum_integers(&contract));
}

}  // namespace
}  // namespace vernier
