// Files of ranges: what is read, what is written, and what is refused.
#include "vernier/precision/calibration_file.h"

#include "precision/typing.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"

namespace vernier {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view content) {
  try {
    parse_ranges_file(content);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(CalibrationFile, TensorRTsCache) {
  const auto ranges = parse_ranges_file(
      "TRT-8601-EntropyCalibration2\ndata: 3c008912\na: b: 3c010a14\r\n(Unnamed Layer* 4) [Shuffle]_output: "
      "0\n");
  EXPECT_TRUE(ranges.names_others);
  ASSERT_EQ(ranges.scales.size(), 2u);  // what has the scale 0 has no range
  EXPECT_FLOAT_EQ(static_cast<float>(ranges.scales.at("data").scale), 0.0078451801F);
  EXPECT_EQ(ranges.scales.at("a: b").type, ElementType::kInt8);
  EXPECT_EQ(ranges.scales.at("a: b").zero_point, 0);
}

TEST(CalibrationFile, OnnxRuntimesCache) {
  const auto ranges = parse_ranges_file("data_0 2.54\nconv 1 127\n");
  EXPECT_DOUBLE_EQ(ranges.scales.at("data_0").scale, 0.02);
  EXPECT_DOUBLE_EQ(ranges.scales.at("conv 1").scale, 1);
  EXPECT_TRUE(ranges.names_others);
}

TEST(CalibrationFile, JsonWithAndWithoutTensors) {
  EXPECT_EQ(
      parse_ranges_file(R"( {"model": "abc", "tensors": {"x": {"scale": 2, "min": 0, "max": 0}}})").model,
      "abc");
  const auto plain = parse_ranges_file(R"({"x": [-1.27, 1], "y": {"scale": 0.5, "offset": 0}})");
  EXPECT_DOUBLE_EQ(plain.scales.at("x").scale, 0.01);
  EXPECT_DOUBLE_EQ(plain.scales.at("y").scale, 0.5);
  EXPECT_EQ(parse_scales(R"({"tensors": {"x": {"scale": 1, "type": "f8e4m3fn"}}})").at("x").type,
            ElementType::kFloat8E4M3FN);
}

TEST(CalibrationFile, WhatIsWrittenIsRead) {
  const Scales scales = {{"x", {ElementType::kInt8, 0.02, 0}},
                         {"relu", {ElementType::kUint8, 0.01, 0}},
                         {"both", {ElementType::kUint8, 0.1, 55}}};
  const auto cache = tensorrt_cache(scales);
  EXPECT_TRUE(cache.starts_with("TRT-8601-EntropyCalibration2\n"));
  EXPECT_TRUE(
      tensorrt_cache(scales, {101401, "MinMaxCalibration"}).starts_with("TRT-101401-MinMaxCalibration\n"));
  const auto ranges = parse_ranges_file(cache);
  EXPECT_FLOAT_EQ(static_cast<float>(ranges.scales.at("x").scale), 0.02F);
  EXPECT_FLOAT_EQ(static_cast<float>(ranges.scales.at("relu").scale), 2.55F / 127);
  EXPECT_FLOAT_EQ(static_cast<float>(ranges.scales.at("both").scale), 20.0F / 127);
  EXPECT_THROW(tensorrt_cache({{"a\nb", {}}}), Error);
  EXPECT_THROW(tensorrt_cache({{"a", {ElementType::kFloat8E4M3FN, 1, 0}}}), Error);
}

TEST(CalibrationFile, DamageIsNamed) {
  constexpr const char* kHeader = "TRT-8601-EntropyCalibration2\n";
  const auto damaged = [&](const char* lines) { return refusal(std::string(kHeader) + lines); };
  EXPECT_THAT(damaged("data: 3c008912\nconv1 3c88edfc\n"), HasSubstr("line 3"));
  EXPECT_THAT(damaged("data: 3g008912\n"), HasSubstr("line 2"));
  EXPECT_THAT(damaged("data: 13c0089123\n"), HasSubstr("line 2"));
  EXPECT_THAT(damaged("data: 7fc00000\n"), HasSubstr("positive"));  // NaN
  EXPECT_THAT(damaged("data: 7f800000\n"), HasSubstr("positive"));  // infinite
  EXPECT_THAT(damaged("data: bc008912\n"), HasSubstr("positive"));  // negative
  EXPECT_THAT(damaged("data: 3c008912\ndata: 3c008912\n"), HasSubstr("again"));
  EXPECT_THAT(damaged(""), HasSubstr("no tensor"));
  EXPECT_THAT(damaged("data: 0\n"), HasSubstr("no tensor"));
  EXPECT_THAT(refusal("x nan\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("x -1\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("\x08\x07\x12\x04"), HasSubstr("no calibration"));
  EXPECT_THAT(refusal(""), HasSubstr("no calibration"));
}

TEST(CalibrationFile, FieldsAreNamed) {
  const auto entry = [](const char* json) {
    return refusal(fmt::format(R"({{"tensors": {{"x": {}}}}})", json));
  };
  EXPECT_THAT(entry(R"({"scale": 0})"),
              testing::AllOf(HasSubstr("'x'"), HasSubstr("'scale'"), HasSubstr("positive")));
  EXPECT_THAT(entry(R"({"scale": -1})"), HasSubstr("'scale'"));
  EXPECT_THAT(entry(R"({"scale": 1e-60})"), HasSubstr("a float holds"));
  EXPECT_THAT(entry(R"({"scale": 1e60})"), HasSubstr("a float holds"));
  EXPECT_THAT(entry(R"({"scale": "1"})"), HasSubstr("'scale'"));
  EXPECT_THAT(entry(R"({"scale": NaN})"), HasSubstr("not JSON"));
  EXPECT_THAT(entry(R"({"scale": 1, "type": "i16"})"), testing::AllOf(HasSubstr("'type'"), HasSubstr("i16")));
  EXPECT_THAT(entry(R"({"scale": 1, "type": 8})"), HasSubstr("'type'"));
  EXPECT_THAT(entry(R"({"scale": 1, "zero_point": 128})"), HasSubstr("'zero_point'"));
  EXPECT_THAT(entry(R"({"scale": 1, "zero_point": 1, "type": "f8e4m3fn"})"), HasSubstr("'zero_point'"));
  EXPECT_THAT(entry(R"({"min": 1})"), HasSubstr("'max'"));
  EXPECT_THAT(entry(R"({"min": 2, "max": 1})"), HasSubstr("no range"));
  EXPECT_THAT(entry("[1, 2, 3]"), HasSubstr("3 numbers"));
  EXPECT_THAT(entry("{}"), HasSubstr("neither"));
  EXPECT_THAT(refusal(R"({"tensors": {}})"), HasSubstr("no tensor"));
}

// Holds what a plan takes of a file for the small net, whose values are x, a, r, b, s, c, e and y.
struct Planned {
  std::string refusal;
  std::vector<std::string> notes;
};

Planned planned_by(const std::string& content) {
  const TemporaryFolder folder;
  write_file(folder.path() / "ranges", content);
  Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.int8 = true;
  options.calibration = folder.path() / "ranges";
  try {
    return {"", apply(model, options).notes};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr(options.calibration.string()));
    return {error.what(), {}};
  }
}

TEST(CalibrationFile, ItIsForOneModel) {
  const Model model = parse_graph(kSmallNet);
  const std::string hash = hash_to_text(structural_hash(*model.graph));
  const auto of_model = [](const std::string& name) {
    return planned_by(fmt::format(R"({{"model": "{}", "tensors": {{"x": {{"scale": 1}}}}}})", name));
  };
  EXPECT_EQ(of_model(hash).refusal, "");
  EXPECT_EQ(of_model("").refusal, "");
  EXPECT_THAT(of_model("0123456789abcdef").refusal, HasSubstr("of model 0123456789abcdef"));
}

TEST(CalibrationFile, NamesMustBeValues) {
  EXPECT_THAT(planned_by(R"({"tensors": {"x": {"scale": 1}, "gone": {"scale": 1}}})").refusal,
              HasSubstr("'gone'"));
  EXPECT_THAT(planned_by("TRT-8601-MinMaxCalibration\ngone: 3c008912\n").refusal,
              HasSubstr("none of its 1 names"));
  const auto some = planned_by("TRT-8601-MinMaxCalibration\ngone: 3c008912\nx: 3c008912\n");
  EXPECT_EQ(some.refusal, "");
  EXPECT_THAT(some.notes, testing::ElementsAre(testing::AllOf(HasSubstr("1 of the 2"), HasSubstr("'gone'")),
                                               HasSubstr("no range for 'r', 's'")));
  EXPECT_THAT(planned_by(R"({"tensors": {"x": {"scale": 1, "type": "f8e4m3fn"}}})").refusal,
              HasSubstr("--type int8"));
}

}  // namespace
}  // namespace vernier
