#include "vernier/precision/json.h"

#include <gmock/gmock.h>

#include "vernier/base/error.h"

namespace vernier {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    JsonValue::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(Json, ReadsEachKind) {
  const auto json = JsonValue::parse(
      R"({"t": true, "n": null, "i": -3, "u": 18446744073709551615, "r": 2.5, "s": "\u00e9\n", "a": [1, []]})");
  EXPECT_TRUE(json.at("t").boolean());
  EXPECT_TRUE(json.at("n").is_null());
  EXPECT_EQ(json.at("i").integer(), -3);
  EXPECT_EQ(json.at("u").size(), SIZE_MAX);
  EXPECT_EQ(json.at("r").real(), 2.5);
  EXPECT_EQ(json.at("i").real(), -3);
  EXPECT_EQ(json.at("s").string(), "\xC3\xA9\n");
  EXPECT_EQ(json.at("a").items().at(0).count(), 1);
  EXPECT_TRUE(json.at("a").items().at(1).items().empty());
  EXPECT_EQ(json.find("x"), nullptr);
  EXPECT_EQ(json.members().front().first, "t");
}

TEST(Json, WhatIsPrintedParsesToTheSame) {
  const std::string text =
      R"({"a":[1,-2,3.0,1e-30,true,false,null],"b":{"\"\\\u0001":"é"},"c":[],"d":{},"e":18446744073709551615})";
  EXPECT_EQ(JsonValue::parse(text).text(), text);
  EXPECT_EQ(JsonValue::parse(JsonValue::parse("[0.1, 1e300]").text()).text(), "[0.1,1e+300]");
}

TEST(Json, WhatIsAnotherKindIsRefused) {
  const auto json =
      JsonValue::parse(R"({"s": "x", "i": -1, "big": 4294967296, "huge": 9223372036854775808})");
  EXPECT_THROW(json.at("s").integer(), Error);
  EXPECT_THROW(json.at("s").items(), Error);
  EXPECT_THROW(json.at("s").find("k"), Error);
  EXPECT_THROW(json.at("i").size(), Error);
  EXPECT_THROW(json.at("i").string(), Error);
  EXPECT_THROW(json.at("big").count(), Error);
  EXPECT_THROW(json.at("huge").integer(), Error);
  EXPECT_THROW(json.at("gone"), Error);
}

TEST(Json, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "[1] 2", "nul", "\"\xFF\"", "1e999", "[\"\t\"]"})
    EXPECT_THAT(refusal(text), HasSubstr("is not JSON")) << text;
  EXPECT_THAT(refusal(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("names 'a' twice"));
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "accepted");
  EXPECT_THAT(refusal(std::string(65, '[') + std::string(65, ']')), HasSubstr("64 levels"));
  EXPECT_THAT(refusal(std::string(1000000, '[')), HasSubstr("64 levels"));
}

}  // namespace
}  // namespace vernier
