#include "vernier/engine/shape_profile.h"

#include <gtest/gtest.h>

#include "passes/rewriting.h"
#include "vernier/engine/session.h"

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

TEST(ShapeProfile, SizesInsideRunAndOthersAreRefusedByName) {
  BuildOptions options;
  options.profiles = {rows(1, 2, 4), rows(16, 16, 32)};
  Session session(Engine::build(model(), options));
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
      Engine::build(model(), options);
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
