// The share of the time that goes to the reference, in the reports of `build` and `bench`.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "vernier/report/bench_report.h"
#include "vernier/report/build_report.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BenchReport bench_with(const FallbackShare& fallback) {
  BenchReport report;
  report.fallback = fallback;
  return report;
}

BuildReport build_with(const std::optional<FallbackShare>& fallback) {
  BuildReport report;
  report.plans.push_back({"x f32[1]", {{"cpu:softmax", "", {"a"}, ""}}, 0, fallback});
  return report;
}

TEST(FallbackText, ThereAreNone) {
  for (const std::string& text :
       {bench_text(bench_with({}), 9), build_text(build_with(FallbackShare{}), false)}) {
    EXPECT_THAT(text, HasSubstr("fallbacks: none, every step runs by a kernel\n"));
    EXPECT_THAT(text, Not(HasSubstr("warning")));
  }
}

TEST(FallbackText, AFewAreToldAndManyAreWarnedOf) {
  for (const double share : {0.049, 0.051}) {
    const FallbackShare fallback{3, share};
    for (const std::string& text :
         {bench_text(bench_with(fallback), 9), build_text(build_with(fallback), false)}) {
      EXPECT_THAT(
          text,
          HasSubstr(share < 0.05 ? "fallbacks: 3 steps that the reference computes take 4.9 % of the time"
                                 : "fallbacks: 3 steps that the reference computes take 5.1 % of the time"));
      EXPECT_EQ(text.find("warning: more than 5 % of the time") != std::string::npos, share > 0.05);
    }
  }
}

TEST(FallbackText, JsonHasTheShare) {
  const auto bench = nlohmann::json::parse(bench_json(bench_with({2, 0.25})));
  EXPECT_EQ(bench["fallback"], nlohmann::json({{"steps", 2}, {"share", 0.25}}));
  EXPECT_EQ(
      nlohmann::json::parse(build_json(build_with(FallbackShare{2, 0.25})))["plans"][0]["fallback_share"],
      0.25);
  // A time that could not be measured is not taken for nothing.
  EXPECT_TRUE(nlohmann::json::parse(build_json(build_with({})))["plans"][0]["fallback_share"].is_null());
  EXPECT_THAT(build_text(build_with({}), false), Not(HasSubstr("fallbacks")));
}

}  // namespace
}  // namespace vernier
