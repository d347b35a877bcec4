// Options of engines by their names.
#include "vernier/engine/named_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "vernier/base/error.h"
#include "vernier/engine/file/recorded_options.h"
#include "vernier/precision/json.h"

namespace vernier {
namespace {

BuildOptions set(const std::map<std::string, std::string>& values) {
  BuildOptions options;
  set_named_options(values, options);
  return options;
}

TEST(NamedOptions, EachHasANameOfItsOwnAndAHelp) {
  std::set<std::string> names;
  for (const NamedOption& option : named_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_GT(std::string_view(option.help).size(), 8) << option.name;
    EXPECT_EQ(find_named_option(option.name), &option);
  }
}

TEST(NamedOptions, FlagsAreSetUnlessTheyAreZero) {
  EXPECT_TRUE(set({{"deterministic", ""}}).deterministic);
  EXPECT_TRUE(set({{"deterministic", "1"}}).deterministic);
  EXPECT_FALSE(set({{"deterministic", "0"}}).deterministic);
  EXPECT_TRUE(set({{"isolate-trials", ""}}).tune.isolate);
}

TEST(NamedOptions, WhatStaysInFloatCountsMoreThanTypesOfLayers) {
  const auto options = set({{"keep-fp32", "/a,/b"}, {"layer-precisions", "*:fp16"}});
  ASSERT_EQ(options.precision.layers.size(), 3);
  EXPECT_EQ(options.precision.layers.front().pattern, "*");
  EXPECT_EQ(options.precision.layers.back().pattern, "/b");
  EXPECT_TRUE(options.precision.layers.back().keeps);
}

TEST(NamedOptions, WhatIsNoneIsRefused) {
  const std::map<std::string, std::string> wrong[] = {{{"deterministik", ""}},
                                                      {{"deterministic", "yes"}},
                                                      {{"keep-fp32", ""}},
                                                      {{"precision-constraints", "some"}},
                                                      {{"bf16", ""}, {"fp16", ""}}};
  for (const auto& values : wrong) EXPECT_THROW(set(values), Error) << values.begin()->first;
}

TEST(NamedOptions, AFileKeepsWhatPlansDoNotSay) {
  const auto options = set({{"deterministic", ""}, {"int8", ""}, {"precision-constraints", "prefer"}});
  std::map<std::string, std::string> kept;
  for (const NamedOption& option : named_options()) {
    const auto value = option.recorded == nullptr ? std::nullopt : option.recorded(options);
    if (value) kept[option.name] = *value;
  }
  const std::map<std::string, std::string> expected{
      {"deterministic", ""}, {"int8", ""}, {"precision-constraints", "prefer"}};
  EXPECT_EQ(kept, expected);
}

// A file may come from anywhere: what no build records is refused, such as a file to be read.
TEST(NamedOptions, AFileSaysNothingElse) {
  const auto read = [](const std::string& named) {
    auto json = recorded_json(BuildOptions());
    json["named"] = nlohmann::ordered_json::parse(named);
    return recorded_options(JsonValue::parse(json.dump()), PrecisionPlan());
  };
  EXPECT_TRUE(read(R"({"deterministic": ""})").deterministic);
  for (const char* named : {R"({"calibration": "/etc/passwd"})", R"({"unknown": ""})",
                            R"({"deterministic": "yes"})", R"({"precision-constraints": "some"})"}) {
    try {
      read(named);
      ADD_FAILURE() << named;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << named;
    }
  }
}

}  // namespace
}  // namespace vernier
