#include "vernier/engine/sizes/shape_profile.h"

#include <gtest/gtest.h>

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"
#include "vernier/ir/clone.h"

namespace vernier {
namespace {

Model model() {
  return parse_graph(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"e" from ["e"]
  })");
}

ShapeProfile rows(int64_t min, int64_t opt, int64_t max) {
  return {{{"x", {{min, opt, max}, {3, 3, 3}}}}};
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

Model pointwise_depthwise() {
  return parse_graph(R"(graph "g" (%x: f32[N, 3], %y: f32[N, 3]) -> (%z) {
    %s: i64[*] = Shape(%x) version 13 @"s" from ["s"]
    %e: f32[*] = Expand(%y, %s) version 13 @"e" from ["e"]
    %z: f32[*] = Exp(%e) version 13 @"z" from ["z"]
  })");
}

// By its name the batch of both inputs is one size, and then there is nothing to expand.
TEST(DimensionNames, TwoSizesOfOneNameRunAsTwoNames) {
  Compiler compiler(pointwise_depthwise());
  compiler.prepare(
      {ValueType::of(ElementType::kFloat, Shape{2, 3}), ValueType::of(ElementType::kFloat, Shape{1, 3})});
  Session session(compiler.engine());
  const auto rows_for = [&](int64_t x, int64_t y) {
    const auto results =
        session.run({{"x", Tensor(ElementType::kFloat, {x, 3})}, {"y", Tensor(ElementType::kFloat, {y, 3})}});
    return results.at("z").tensor.dims()[0];
  };
  EXPECT_EQ(rows_for(4, 1), 4);
  EXPECT_EQ(rows_for(4, 4), 4);
  EXPECT_EQ(rows_for(1, 5), 5);
  EXPECT_EQ(rows_for(2, 1), 2);
}

// An engine from a file has no graph in which the sizes are two.
TEST(DimensionNames, EngineOfAFileRefusesTwoSizesOfOneName) {
  const auto engine = compile(pointwise_depthwise());
  EngineContent content{clone(engine->graph()), {}, engine->precision(), engine->content().nodes, 0};
  const auto planner = std::make_shared<Planner>(std::move(content), BuildOptions());
  Session session(std::make_shared<const Engine>(planner, std::vector<PreparedPlan>(), TunedChoices()));
  const auto run = [&](int64_t y) {
    return refusal([&] {
      session.run({{"x", Tensor(ElementType::kFloat, {4, 3})}, {"y", Tensor(ElementType::kFloat, {y, 3})}});
    });
  };
  EXPECT_EQ(run(4), "");
  EXPECT_NE(run(1).find("one name two sizes"), std::string::npos);
}

TEST(ShapeProfile, SizesInsideRunAndOthersAreRefusedByName) {
  BuildOptions options;
  options.profiles = {rows(1, 2, 4), rows(16, 16, 32)};
  Session session(compile(model(), options));
  const auto run = [&](int64_t size) {
    return refusal([&] { session.run({{"x", Tensor(ElementType::kFloat, {size, 3})}}); });
  };
  for (const int64_t size : {1, 2, 3, 4, 16, 20, 32}) EXPECT_EQ(run(size), "") << size;
  for (const int64_t size : {0, 5, 15, 33}) {
    const std::string text = run(size);
    EXPECT_NE(text.find("profile 0"), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("dimension 0 of input 'x' is {}", size)), std::string::npos) << text;
  }
  EXPECT_EQ(run(3), "");  // still usable
}

TEST(ShapeProfile, MustFitTheModel) {
  const auto build = [](ShapeProfile profile) {
    return refusal([&] {
      BuildOptions options;
      options.profiles = {std::move(profile)};
      compile(model(), options);
    });
  };
  EXPECT_EQ(build(rows(1, 1, 1)), "");
  EXPECT_NE(build(rows(2, 1, 4)).find("ascend"), std::string::npos);
  EXPECT_NE(build({{{"z", {{1, 1, 1}}}}}).find("no input"), std::string::npos);
  EXPECT_NE(build({{{"x", {{1, 1, 1}}}}}).find("1 dimensions"), std::string::npos);
  EXPECT_NE(build({{{"x", {{1, 1, 1}, {2, 2, 2}}}}}).find("is 3 in the model"), std::string::npos);
}

TEST(ShapeProfile, TypesAtItsSizes) {
  const Model source = model();
  const auto types = rows(1, 2, 4).types(*source.graph, &DimRange::max);
  ASSERT_EQ(types.size(), 1U);
  EXPECT_EQ(types[0].text(), "f32[4, 3]");
  EXPECT_NE(refusal([&] { ShapeProfile{}.types(*source.graph, &DimRange::opt); }), "");
}

}  // namespace
}  // namespace vernier
