// What steps without a kernel take of a run.
#include <gtest/gtest.h>

#include "vernier/bench/profile.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

FallbackTime of_graph(const std::string& nodes) {
  Model model = parse_model("model ir=10 opset \"\" 24 {\ngraph \"g\" (%x: f32[40, 40]) -> (%y) {\n" + nodes +
                            "\n}\n}");
  ops::infer_types(*model.graph);
  Session session(Engine::build(model));
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
  EXPECT_EQ(of_graph(R"(%y: f32[*] = Det(%x) version 22 @"d" from ["d"])").share, 1);
}

}  // namespace
}  // namespace vernier
