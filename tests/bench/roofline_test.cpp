#include "vernier/bench/roofline.h"

#include <gtest/gtest.h>

#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/bench/profile.h"
#include "vernier/compile/compiler.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

MachinePeak some_peak() {
  MachinePeak peak;
  peak.flops = {{ElementType::kFloat, 1e9}, {ElementType::kBFloat16, 8e9}};
  peak.bandwidths = {{1000, 1e9}, {1e6, 1e8}};
  return peak;
}

TEST(Roofline, TheSlowerSideIsTheLimit) {
  const Roofline computing = roofline({2e6, 1e3}, some_peak());
  EXPECT_FALSE(computing.memory);
  EXPECT_DOUBLE_EQ(computing.floor_ms, 2);
  const Roofline moving = roofline({1, 1e6}, some_peak());
  EXPECT_TRUE(moving.memory);
  EXPECT_DOUBLE_EQ(moving.floor_ms, 10);
}

TEST(Roofline, TypesAndAreasHavePeaksOfTheirOwn) {
  EXPECT_DOUBLE_EQ(roofline({8e6, 1, ElementType::kBFloat16}, some_peak()).floor_ms, 1);
  EXPECT_DOUBLE_EQ(roofline({8e6, 1, ElementType::kBFloat16, 3}, some_peak()).floor_ms, 3);
  EXPECT_TRUE(roofline({8e6, 1, ElementType::kInt64}, some_peak()).memory);  // no peak is known
  EXPECT_DOUBLE_EQ(some_peak().bandwidth(1000), 1e9);
  EXPECT_DOUBLE_EQ(some_peak().bandwidth(1001), 1e8);
  EXPECT_DOUBLE_EQ(some_peak().bandwidth(1e9), 1e8);  // beyond the largest
}

TEST(Roofline, ThePeakIsMeasured) {
  const MachinePeak peak = measure_peak({ElementType::kFloat, ElementType::kInt64});
  EXPECT_GT(peak.flops.at(ElementType::kFloat), 1e8);
  EXPECT_FALSE(peak.flops.contains(ElementType::kInt64));
  for (const auto& [bytes, speed] : peak.bandwidths) EXPECT_GT(speed, 1e7) << bytes;
}

TEST(Roofline, TilesAreMeasuredWhereTheyAre) {
  EXPECT_FALSE(tile_flops(ElementType::kFloat));
  for (const ElementType type : {ElementType::kBFloat16, ElementType::kUint8, ElementType::kInt8}) {
    const auto flops = tile_flops(type);
    EXPECT_EQ(flops.has_value(), cpu::has_bf16_tiles());
    if (!flops) continue;
    EXPECT_GT(*flops, 1e8);
    EXPECT_GT(measure_peak({type}).flops.at(type), 1e8);
  }
}

// A product with an epilogue: 2 * 8 * 64 * 32 operations, and one for each element of the Relu.
TEST(Roofline, TheWorkOfAStepIsThatOfItsNodes) {
  Model model = parse_model(R"(model ir=10 opset "" 24 {
graph "g" (%x: f32[8, 64], %w: f32[64, 32]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"r" from ["r"]
  }
})");
  ops::infer_types(*model.graph);
  Session session(compile(model));
  const NamedData data{{"x", Tensor(ElementType::kFloat, {8, 64})},
                       {"w", Tensor(ElementType::kFloat, {64, 32})}};
  const Profile measured = profile(session, data, 2);
  double flops = 0, bytes = 0;
  for (const StepTime& step : measured.steps) {
    ASSERT_TRUE(step.work);
    flops += step.work->flops;
    bytes += step.work->bytes;
  }
  EXPECT_EQ(flops, 2 * 8 * 64 * 32 + 8 * 32);
  EXPECT_EQ(bytes, 4 * (8 * 64 + 64 * 32 + 8 * 32));
}

}  // namespace
}  // namespace vernier
