// Plans as files, and what refuses them.
#include "precision/typing.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/precision/json.h"

namespace vernier {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const Model model = parse_graph(kSmallNet);
  const TemporaryFolder folder;
  write_file(folder.path() / "plan.json", text);
  try {
    read_plan(folder.path() / "plan.json", *model.graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.file(), HasSubstr("plan.json"));
    return error.what();
  }
  return "accepted";
}

TEST(Plan, IsTheSameWhenReadAgain) {
  const Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.bf16 = true;
  PrecisionPlan plan = make_precision_plan(*model.graph, *model.graph, options);
  plan.layers["conv_a"].quant = {{0, ElementType::kUint8, 0.5, 128}};
  plan.layers["conv_a"].weight_block = 32;
  plan.layers["conv_a"].frozen = true;
  auto& late = plan.layers["late"];  // its types are known only when it runs
  late.compute = late.accumulate = late.store = ElementType::kUndefined;
  const std::string text = plan_json(plan);
  EXPECT_EQ(plan_json(parse_plan(JsonValue::parse(text))), text);
  EXPECT_EQ(parse_plan(JsonValue::parse(text)).layers.at("conv_a").quant[0].zero_point, 128);
  EXPECT_EQ(parse_plan(JsonValue::parse(text)).layers.at("conv_a").weight_block, 32);
}

TEST(Plan, Tf32IsATypeToComputeIn) {
  const Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.tf32 = true;
  const PrecisionPlan plan = make_precision_plan(*model.graph, *model.graph, options);
  const std::string text = plan_json(plan);
  const JsonValue json = JsonValue::parse(text);
  EXPECT_EQ(json.at("layers").at("conv_a").at("compute").string(), "tf32");
  EXPECT_EQ(json.at("layers").at("relu").at("compute").string(), "f32");
  const PrecisionPlan again = parse_plan(json);
  EXPECT_TRUE(again.layers.at("conv_a").tf32);
  EXPECT_EQ(again.layers.at("conv_a").compute, ElementType::kFloat);
  EXPECT_FALSE(again.layers.at("relu").tf32);
  EXPECT_EQ(plan_json(again), text);
  EXPECT_EQ(summary(again), "f32 4 nodes, tf32 3 nodes");
}

TEST(Plan, ADamagedFileIsRefused) {
  EXPECT_THAT(refusal("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("an object is needed"));
  EXPECT_THAT(refusal(R"({"schema": "vernier-plan", "version": 2, "layers": {}})"), HasSubstr("version 1"));
  const auto with_layer = [](const std::string& layer) {
    return R"({"schema": "vernier-plan", "version": 1, "layers": {)" + layer + "}}";
  };
  EXPECT_THAT(refusal(with_layer(R"("conv_a": {"compute": "bf16"})")), HasSubstr("lacks 'accumulate'"));
  EXPECT_THAT(refusal(with_layer(R"("conv_a": {"compute": "b16", "accumulate": "f32", "store": "f32"})")),
              HasSubstr("no element type"));
  EXPECT_THAT(refusal(with_layer(R"("gone": {"compute": "bf16", "accumulate": "f32", "store": "f32"})")),
              HasSubstr("'gone'"));
  const std::string scale =
      R"("conv_a": {"compute": "i8", "accumulate": "i32", "store": "f32", "quant": [{"input": 0, "type": "u8", )";
  EXPECT_THAT(refusal(with_layer(scale + R"("scale": 0, "zero_point": 0}]})")), HasSubstr("scale"));
  EXPECT_THAT(refusal(with_layer(scale + R"("scale": 1, "zero_point": 256}]})")), HasSubstr("zero point"));
}

TEST(Plan, APlanForAnotherModelIsRefused) {
  EXPECT_THAT(refusal(R"({"schema": "vernier-plan", "version": 1, "model": "0", "layers": {}})"),
              HasSubstr("for model 0"));
  const Model model = parse_graph(kSmallNet);
  EXPECT_EQ(refusal(R"({"schema": "vernier-plan", "version": 1, "model": ")" +
                    hash_to_text(structural_hash(*model.graph)) + R"(", "layers": {}})"),
            "accepted");
}

TEST(Plan, WhatIsReadCountsBeforeTheRules) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "plan.json";
  write_file(path, R"({"schema": "vernier-plan", "version": 1, "layers": {
    "conv_a": {"compute": "f32", "accumulate": "f32", "store": "f32", "frozen": true},
    "conv_b": {"compute": "f32", "accumulate": "f32", "store": "f32"}}})");
  const Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.bf16 = true;
  options.plan = path;
  options.layers = parse_layer_types("conv_*:bf16");
  const auto plan = make_precision_plan(*model.graph, *model.graph, options);
  EXPECT_EQ(plan.layers.at("conv_a").compute, ElementType::kFloat);  // frozen
  EXPECT_EQ(plan.layers.at("conv_b").compute, ElementType::kBFloat16);
  EXPECT_EQ(plan.layers.at("conv_c").compute, ElementType::kBFloat16);
}

TEST(Plan, AMergedNodeTakesTheWidest) {
  PrecisionPlan plan;
  plan.layers["a"] = {ElementType::kBFloat16, ElementType::kFloat, ElementType::kBFloat16};
  plan.layers["b"] = {ElementType::kFloat16, ElementType::kFloat, ElementType::kBFloat16};
  plan.layers["sizes"] = {ElementType::kInt64, ElementType::kInt64, ElementType::kInt64};
  Node node;
  node.provenance = {"a", "b", "sizes", "unknown"};
  const auto merged = plan.strictest(node);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->compute, ElementType::kFloat);  // neither narrow type holds the other
  EXPECT_EQ(merged->store, ElementType::kBFloat16);
  node.provenance = {"unknown"};
  EXPECT_FALSE(plan.strictest(node));
}

TEST(Calibration, RangesAndScales) {
  const auto scales =
      parse_scales(R"({"tensors": {"relu": {"min": 0, "max": 2.55}, "x": {"min": -1, "max": 0.5},
    "given": {"scale": 0.25, "zero_point": 7, "type": "u8"}}})");
  EXPECT_EQ(scales.at("relu").type, ElementType::kUint8);
  EXPECT_DOUBLE_EQ(scales.at("relu").scale, 0.01);
  EXPECT_EQ(scales.at("x").type, ElementType::kInt8);
  EXPECT_DOUBLE_EQ(scales.at("x").scale, 1.0 / 127);
  EXPECT_EQ(scales.at("given").zero_point, 7);
  for (const char* wrong :
       {"", "{}", R"({"tensors": 1})", R"({"tensors": {"x": {"min": 1}}})",
        R"({"tensors": {"x": {"min": 2, "max": 1}}})", R"({"tensors": {"x": {"scale": -1}}})",
        R"({"tensors": {"x": {"scale": 1, "type": "i16"}}})",
        R"({"tensors": {"x": {"scale": 1, "zero_point": 300}}})"})
    EXPECT_THROW(parse_scales(wrong), Error) << wrong;
}

}  // namespace
}  // namespace vernier
