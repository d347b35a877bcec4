// Tests what the reference takes of a run, where there is no kernel.
#include <gtest/gtest.h>

#include "vernier/bench/profile.h"
#include "vernier/compile/compiler.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

FallbackTime of_graph(const std::string& nodes) {
  Model model = parse_model("model ir=10 opset \"\" 24 {\ngraph \"g\" (%x: f32[40, 40]) -> (%y) {\n" + nodes +
                            "\n}\n}");
  ops::infer_types(*model.graph);
  Session session(compile(model));
  std::vector<double> values(1600);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 37 % 29) / 29;
  return fallback_time(session, {{"x", Tensor::from_doubles(ElementType::kFloat, {40, 40}, values)}});
}

TEST(FallbackTime, OfNoSteps) {
  const FallbackTime none = of_graph(R"(%y: f32[*] = Relu(%x) version 14 @"r" from ["r"])");
  EXPECT_EQ(none.steps, 0);
  EXPECT_EQ(none.share, 0);
}

TEST(FallbackTime, OfDeterminantsWhichHaveNoKernel) {
  const FallbackTime some = of_graph(R"(%r: f32[*] = Relu(%x) version 14 @"r" from ["r"]
    %y: f32[*] = Det(%r) version 22 @"d" from ["d"])");
  EXPECT_EQ(some.steps, 1);
  EXPECT_GT(some.share, 0.05);
  EXPECT_LT(some.share, 1);
  EXPECT_GT(of_graph(R"(%y: f32[*] = Det(%x) version 22 @"d" from ["d"])").share, 0.9);
}

// Kernels are made for sizes that are known when it runs; one that measures its outputs makes them so.
TEST(FallbackTime, KernelsMadeForSizesThatOnlyRunningTellsAreNone) {
  const std::string rest = R"(
    %f: f32[*] = Cast(%n) {to = 1} version 13 @"c" from ["c"]
    %y: f32[*] = Relu(%f) version 14 @"r" from ["r"])";
  const FallbackTime none = of_graph(R"(%n: i64[*] = NonZero(%x) version 13 @"n" from ["n"])" + rest);
  EXPECT_EQ(none.without_kernel.size(), 3) << "no step is in the plan with a kernel";
  EXPECT_EQ(none.steps, 0);
  EXPECT_EQ(none.share, 0);
  const FallbackTime some = of_graph(R"(%i: i4[*] = Cast(%x) {to = 22} version 25 @"i" from ["i"]
    %n: i64[*] = NonZero(%i) version 13 @"n" from ["n"])" +
                                     rest);
  EXPECT_EQ(some.steps, 1) << "NonZero, of which there is no kernel for this type";
  EXPECT_GT(some.share, 0);
  EXPECT_LT(some.share, 1);
}

// The same holds for sizes that only a run tells.
TEST(FallbackTime, ViewsAndWhatFollowsFromSizesAreNone) {
  const FallbackTime none = of_graph(R"(%n: i64[*] = NonZero(%x) version 13 @"n" from ["n"]
    %s: i64[*] = Size(%n) version 25 @"s" from ["s"]
    %f: i64[*] = Flatten(%n) {axis = 0} version 25 @"f" from ["f"]
    %g: i64[*] = Neg(%f) version 13 @"g" from ["g"]
    %y: i64[*] = Mul(%g, %s) version 14 @"m" from ["m"])");
  EXPECT_GE(none.without_kernel.size(), 4);
  EXPECT_EQ(none.steps, 0);
}

// The nodes in the branch count, not that it is a branch.
TEST(FallbackTime, OfControlFlowIsWhatItsRegionsRunByTheReference) {
  const auto branch = [](const std::string& nodes) {
    return of_graph(R"(%s: f32[*] = ReduceSum(%x) {keepdims = 0} version 13 @"s" from ["s"]
    %b: bool[*] = Cast(%s) {to = 9} version 13 @"b" from ["b"]
    %y: f32[*] = If(%b) version 21 @"if" from ["if"] regions {
      then_branch = graph "then" () -> (%t) {
)" + nodes + R"(
      }
      else_branch = graph "else" () -> (%e) {
        %e: f32[*] = Neg(%x) version 13 @"e" from ["e"]
      }
    })");
  };
  const FallbackTime kernels = branch(R"(        %t: f32[*] = Relu(%x) version 14 @"t" from ["t"])");
  EXPECT_EQ(kernels.steps, 0);
  EXPECT_EQ(kernels.share, 0);
  const FallbackTime some = branch(R"(        %t: f32[*] = Det(%x) version 22 @"t" from ["t"])");
  EXPECT_EQ(some.steps, 1);
  EXPECT_GT(some.share, 0.05);
  EXPECT_LT(some.share, 1);
}

TEST(Profile, StepsInRegionsAreToldWithTheNodeAroundThem) {
  Model model = parse_model(R"(model ir=10 opset "" 24 {
graph "g" (%x: f32[8, 64], %trips: i64[]) -> (%y) {
    const %yes = bool[] hex"01"
    %a: f32[*] = Relu(%x) version 14 @"a" from ["a"]
    %y: f32[*] = Loop(%trips, %yes, %a) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %t: bool[], %v: f32[*]) -> (%t, %next) {
        %e: f32[*] = Exp(%v) version 13 @"e" from ["e"]
        %next: f32[*] = Softmax(%e) {axis = 1} version 13 @"s" from ["s"]
      }
    }
  }
})");
  ops::infer_types(*model.graph);
  Session session(compile(model));
  const Profile measured = profile(
      session, {{"x", Tensor(ElementType::kFloat, {8, 64})}, {"trips", Tensor::scalar(int64_t{3})}}, 2);
  std::set<std::string> inside;
  for (const StepTime& step : measured.steps) {
    const bool is_loop = step.nodes == std::vector<std::string>{"loop"};
    EXPECT_EQ(step.inside.empty(), !is_loop);
    double sum = 0;
    for (const StepTime& each : step.inside) {
      EXPECT_FALSE(each.kernel.empty());
      inside.insert(each.nodes.begin(), each.nodes.end());
      sum += each.milliseconds;
    }
    EXPECT_LE(sum, step.milliseconds * 1.5);
  }
  EXPECT_EQ(inside, (std::set<std::string>{"e", "s"}));
}

}  // namespace
}  // namespace vernier
