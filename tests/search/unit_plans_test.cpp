// Which parts of a model get types of their own, and the plans of assignments.
#include "vernier/search/unit_plans.h"

#include "precision/typing.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

constexpr ElementType kBf16 = ElementType::kBFloat16, kFp16 = ElementType::kFloat16,
                      kF32 = ElementType::kFloat, kI8 = ElementType::kInt8;

std::vector<std::string> nodes_of(const UnitPlans& plans) {
  std::vector<std::string> nodes;
  for (const SearchUnit& unit : plans.units()) nodes.push_back(fmt::format("{}", fmt::join(unit.nodes, "+")));
  return nodes;
}

class UnitPlansTest : public testing::Test {
 protected:
  UnitPlans plans(PrecisionOptions given = {},
                  const std::vector<ElementType>& types = {kBf16, kFp16, kI8}) const {
    return {model_, {}, std::move(given), types};
  }
  std::filesystem::path file(const std::string& content) const {
    write_file(folder_.path() / "file.json", content);
    return folder_.path() / "file.json";
  }
  Model model_ = parse_graph(kSmallNet);
  TemporaryFolder folder_;
};

TEST_F(UnitPlansTest, ContractionsAreUnitsAndOthersBelongToThem) {
  const UnitPlans made = plans();
  EXPECT_EQ(nodes_of(made), (std::vector<std::string>{"conv_a", "conv_b", "conv_c"}));
  EXPECT_EQ(made.units()[0].types, (std::vector<ElementType>{kBf16, kFp16}));  // there are no ranges
  EXPECT_EQ(made.owners().at("relu"), 0);
  EXPECT_EQ(made.owners().at("softmax"), 2);
  EXPECT_FALSE(made.start());
}

TEST_F(UnitPlansTest, WhatTheUserFixedIsInNoUnit) {
  PrecisionOptions given;
  given.layers = {{"conv_a", kF32}};
  given.plan = file(R"({"schema": "vernier-plan", "version": 1, "layers": {
    "conv_b": {"compute": "bf16", "accumulate": "f32", "store": "bf16", "frozen": true},
    "conv_c": {"compute": "bf16", "accumulate": "f32", "store": "bf16"}}})");
  const UnitPlans made = plans(given);
  EXPECT_EQ(nodes_of(made), std::vector<std::string>{"conv_c"});
  const PrecisionPlan plan = made.plan({kFp16});
  EXPECT_EQ(plan.layers.at("conv_a").compute, kF32);
  EXPECT_EQ(plan.layers.at("conv_b").compute, kBf16);
  EXPECT_EQ(plan.layers.at("conv_c").compute, kFp16);
  EXPECT_EQ(made.start()->layers.at("conv_c").compute, kBf16);
}

TEST_F(UnitPlansTest, WhatLiesBetweenUnitsOfOneTypeFollows) {
  const UnitPlans made = plans();
  const PrecisionPlan half = made.plan({kBf16, kBf16, kF32}, {"because", "", ""});
  EXPECT_EQ(half.layers.at("conv_a").compute, kBf16);
  EXPECT_EQ(half.layers.at("conv_a").by, LayerPrecision::By::kSearch);
  EXPECT_EQ(half.layers.at("conv_a").why, "because");
  EXPECT_EQ(half.layers.at("relu").store, kBf16);
  EXPECT_EQ(half.layers.at("conv_c").compute, kF32);
  const PrecisionPlan mixed = made.plan({kFp16, kFp16, kBf16});
  EXPECT_EQ(mixed.layers.at("conv_b").compute, kFp16);
  EXPECT_EQ(mixed.layers.at("relu").store, kFp16);
  EXPECT_EQ(mixed.layers.at("add").store, kF32);  // between fp16 and bf16
  EXPECT_EQ(mixed.layers.at("conv_c").compute, kBf16);
}

TEST_F(UnitPlansTest, Int8NeedsRangesOfWhatAUnitReads) {
  PrecisionOptions given;
  given.calibration = file(R"({"tensors": {"r": {"min": 0, "max": 2}, "s": {"min": -1, "max": 2}}})");
  const UnitPlans made = plans(given);
  EXPECT_EQ(made.units()[0].types, (std::vector<ElementType>{kBf16, kFp16}));
  EXPECT_EQ(made.units()[1].types, (std::vector<ElementType>{kBf16, kFp16, kI8}));
  const PrecisionPlan plan = made.plan({kBf16, kI8, kF32});
  EXPECT_EQ(plan.layers.at("conv_a").compute, kBf16);
  EXPECT_EQ(plan.layers.at("conv_b").compute, kI8);
  EXPECT_EQ(plan.layers.at("conv_b").quant.size(), 1);
  EXPECT_EQ(plan.layers.at("conv_c").compute, kF32);
  EXPECT_TRUE(plan.layers.at("conv_c").quant.empty());
}

TEST_F(UnitPlansTest, NothingLoweredIsWhatTheModelDeclares) {
  for (const auto& [node, layer] : plans().plan({kF32, kF32, kF32}).layers) {
    EXPECT_EQ(layer.compute, kF32) << node;
    EXPECT_EQ(layer.store, kF32) << node;
  }
}

}  // namespace
}  // namespace vernier
