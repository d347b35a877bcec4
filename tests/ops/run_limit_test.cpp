#include "vernier/backends/reference/run_limit.h"

#include <gtest/gtest.h>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/base/error.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// Runs as long as its condition holds, which nothing changes.
ReferenceRun run_loop(bool condition) {
  const Model model = parse_model(R"(model ir=8 opset "" 17 {
    graph "g" (%c: bool[], %x: f32[1]) -> (%y) {
      %y: f32[*] = Loop(_, %c, %x) version 16 @"loop" from ["loop"] regions {
        body = graph "body" (%i: i64[], %go: bool[], %v: f32[1]) -> (%go, %v) {
        }
      }
    }
  })");
  ops::infer_types(*model.graph);
  return run_reference(model, {{"c", Tensor::from<bool>(ElementType::kBool, {}, {condition})},
                               {"x", Tensor(ElementType::kFloat, {1})}});
}

TEST(RunLimit, EndsALoopThatWouldNeverEnd) {
  const RunLimit limit(0.05);
  EXPECT_THROW(run_loop(true), Error);
}

TEST(RunLimit, LeavesWhatIsInTime) {
  const RunLimit limit(60);
  EXPECT_EQ(run_loop(false).outputs.size(), 1U);
}

TEST(RunLimit, HoldsWithinItsScopeAlone) {
  {
    const RunLimit limit(0);
    EXPECT_THROW(run_loop(false), Error);
  }
  EXPECT_EQ(run_loop(false).outputs.size(), 1U);
}

TEST(RunLimit, ALongerOneInsideDoesNotExtendIt) {
  const RunLimit outer(0);
  const RunLimit inner(1e12);
  EXPECT_THROW(run_loop(false), Error);
}

}  // namespace
}  // namespace vernier
