// A test of a pass fails when the pass does wrong: each kind of wrong, done on purpose.
#include "passes/expect_pass.h"

#include <gtest/gtest-spi.h>

#include "vernier/passes/build.h"

namespace vernier {
namespace {

constexpr const char* kBefore = R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %a: f32[*] = Softmax(%x) {axis = 1} version 13 @"a" from ["a"]
    %y: f32[*] = Neg(%a) version 13 @"y" from ["y"]
  })";
constexpr const char* kAfter = R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %a: f32[2, 3] = Softmax(%x) {axis = -1} version 13 @"a" from ["a"]
    %y: f32[2, 3] = Neg(%a) version 13 @"y" from ["y"]
  })";

// Writes the axis from the end, and does what else is asked.
Pass pass_that(const std::function<void(Graph&, Node& softmax)>& also,
               NumericalClass numerics = NumericalClass::kExact) {
  return {"count-from-the-end", numerics, [also](Graph& graph) {
            Node& softmax = *graph.nodes()[0];
            softmax.attributes["axis"] = Attribute(int64_t{-1});
            also(graph, softmax);
            return 1;
          }};
}

std::string failures(const std::function<void()>& test) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    test();
  }
  std::string all;
  for (int i = 0; i < results.size(); ++i) all += results.GetTestPartResult(i).message();
  return all;
}

std::string failures(const Pass& pass, const std::string& after = kAfter) {
  return failures([&] { expect_pass({pass}, kBefore, after); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExpectPass, WhatIsAsItIsToldPasses) {
  EXPECT_EQ(failures(pass_that([](Graph&, Node&) {})), "");
}

TEST(ExpectPass, AnotherTextFails) {
  std::string other = kAfter;
  other.replace(other.find("axis = -1"), 9, "axis = 1");
  EXPECT_TRUE(has(failures(pass_that([](Graph&, Node&) {}), other), "axis = -1"));
}

TEST(ExpectPass, OtherProvenanceFails) {
  EXPECT_TRUE(has(failures(pass_that([](Graph&, Node& node) { node.provenance.insert("y"); })),
                  R"(from [\"a\", \"y\"])"));
  EXPECT_TRUE(
      has(failures(pass_that([](Graph&, Node& node) { node.provenance.clear(); })), "comes from nowhere"));
  EXPECT_TRUE(has(failures(pass_that([](Graph&, Node& node) { node.provenance = {"z"}; })),
                  "comes from 'z', which was not there"));
}

TEST(ExpectPass, ADeadNodeFails) {
  const Pass pass = pass_that([](Graph& graph, Node& node) {
    auto dead = make_node("Abs", 13, {node.input(0)}, graph.add_value("dead"));
    dead->provenance = {"a"};
    graph.add_node(std::move(dead));
  });
  std::string after = kAfter;  // even if it is in the text
  after.replace(after.rfind("  }"), 3, R"(    %dead: f32[2, 3] = Abs(%x) version 13 @"dead" from ["a"]
  })");
  EXPECT_TRUE(has(failures(pass, after), "dead nodes or outputs are left"));
}

TEST(ExpectPass, OtherNumbersFail) {
  const auto along_columns = [](Graph&, Node& node) { node.attributes["axis"] = Attribute(int64_t{0}); };
  std::string after = kAfter;
  after.replace(after.find("axis = -1"), 9, "axis = 0");
  EXPECT_TRUE(has(failures(pass_that(along_columns), after), "distance"));
  EXPECT_TRUE(has(failures(pass_that(along_columns, NumericalClass::kReassociating), after), "distance"));
}

TEST(ExpectPass, APassThatIsToLeaveEverythingMustNotEvenCount) {
  const Pass counts{"counts", NumericalClass::kExact, [](Graph&) { return 1; }};
  const Pass silent{"silent", NumericalClass::kExact, [](Graph& graph) {
                      graph.nodes()[0]->attributes["axis"] = Attribute(int64_t{-1});
                      return 0;
                    }};
  const Pass none{"none", NumericalClass::kExact, [](Graph&) { return 0; }};
  EXPECT_TRUE(has(failures([&] { expect_unchanged({counts}, kBefore); }), "the pass fired"));
  EXPECT_TRUE(has(failures([&] { expect_unchanged({silent}, kBefore); }), "axis = -1"));
  EXPECT_EQ(failures([&] { expect_unchanged({none}, kBefore); }), "");
  EXPECT_TRUE(has(failures(none), "the pass did not fire"));
}

TEST(Distance, NaNAndInfinityMustBeWhereTheyWere) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto of = [](std::array<double, 2> values) {
    return Tensor::from_doubles(ElementType::kFloat, {2}, values);
  };
  EXPECT_EQ(distance(of({1, nan}), of({1, nan})), 0);
  EXPECT_EQ(distance(of({1, nan}), of({1, 2})), inf);
  EXPECT_EQ(distance(of({1, 2}), of({1, nan})), inf);
  EXPECT_EQ(distance(of({1, inf}), of({1, -inf})), inf);
  EXPECT_LT(distance(of({1, inf}), of({1.0001, inf})), 1e-3);
  EXPECT_GT(distance(of({0, 1}), of({-0.0, 1})), 0);
  EXPECT_EQ(distance(of({1, 2}), Tensor::from_doubles(ElementType::kFloat, {1}, std::array{1.0})), inf);
}

}  // namespace
}  // namespace vernier
