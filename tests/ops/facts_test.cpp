// Definitions of operators have to state some facts: passes, plans and bounds read them there and know no
// names. An operator that forgets one of these facts would silently be taken for one that has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier::ops {
namespace {

using testing::IsEmpty;

std::vector<std::string> names_of(bool (*chosen)(const OpDef&)) {
  std::vector<std::string> names;
  for (const OpDef& def : OpRegistry::instance().all()) {
    if (chosen(def)) names.push_back(def.domain.empty() ? def.op : def.domain + "::" + def.op);
  }
  return names;
}

bool has(const OpDef& def, uint32_t traits) {
  return (def.traits & traits) != 0;
}

bool plays(const OpDef& def, Role role) {
  return std::find(def.operands.begin(), def.operands.end(), role) != def.operands.end();
}

std::unique_ptr<Node> node_of(std::string domain, std::string op) {
  auto node = std::make_unique<Node>();
  node->domain = std::move(domain), node->op = std::move(op), node->version = 13;
  return node;
}

TEST(Facts, OnlyOperatorsThatReadNothingHaveNoOperands) {
  EXPECT_THAT(names_of([](const OpDef& def) { return def.operands.empty(); }),
              testing::UnorderedElementsAre("Constant", "RandomNormal", "RandomUniform", "SequenceEmpty"));
  EXPECT_THAT(names_of([](const OpDef& def) { return def.min_inputs() == 0 && !def.operands.empty(); }),
              testing::UnorderedElementsAre("Loop", "Optional", "OptionalHasElement", "vernier::Group"));
  EXPECT_THAT(names_of([](const OpDef& def) {
                return def.min_inputs() < 0 || def.repeats > static_cast<int>(def.operands.size());
              }),
              IsEmpty());
}

TEST(Facts, EveryOperatorOfOnnxSaysInWhichOpsetsItTakesNarrowFloats) {
  EXPECT_THAT(names_of([](const OpDef& def) {
                return def.domain.empty() && (def.since.bfloat16 == TypesSince::kUnstated ||
                                              def.since.float16 == TypesSince::kUnstated);
              }),
              IsEmpty());
}

TEST(Facts, EveryOperatorOfOnnxThatIsNotElementByElementSaysWhetherItBearsNarrowTypes) {
  EXPECT_THAT(names_of([](const OpDef& def) {
                return def.domain.empty() && def.precision == PrecisionClass::kByTraits &&
                       !has(def, kPointwise | kView | kDataMovement | kControlFlow);
              }),
              IsEmpty());
}

TEST(Facts, EveryPointwiseOperatorOfNarrowFloatsSaysHowItRounds) {
  EXPECT_THAT(names_of([](const OpDef& def) {
                return def.since.float16 > 0 && has(def, kPointwise) &&
                       !has(def, kRoundsNothing | kRoundsOnce | kSums | kFunction | kFewRoundings);
              }),
              IsEmpty());
  EXPECT_THAT(names_of([](const OpDef& def) { return def.cancels_until > 0 && !has(def, kFunction); }),
              IsEmpty());
}

TEST(Facts, EveryProductWithWeightsSaysWhichAxisCountsOutputChannels) {
  EXPECT_THAT(names_of([](const OpDef& def) {
                return def.domain.empty() && has(def, kContraction) && !has(def, kRecurrent) &&
                       plays(def, Role::kWeight) != def.output_channels.has_value();
              }),
              IsEmpty());
  EXPECT_THAT(names_of([](const OpDef& def) {
                return has(def, kProducts | kConvolution) &&
                       (!def.output_channels || def.role(1) != Role::kWeight) &&
                       !plays(def, Role::kResultScale);
              }),
              IsEmpty());
}

TEST(Facts, EveryZeroPointHasAScaleOrAnIntegerResult) {
  EXPECT_THAT(names_of([](const OpDef& def) {
                const auto count = [&](Role role) {
                  return std::count(def.operands.begin(), def.operands.end(), role);
                };
                const bool of_integers = def.op == "MatMulInteger" || def.op == "ConvInteger";
                return !of_integers && (count(Role::kZeroPoint) > count(Role::kScale) ||
                                        count(Role::kWeightZeroPoint) > count(Role::kWeightScale) ||
                                        count(Role::kResultZeroPoint) != count(Role::kResultScale));
              }),
              IsEmpty());
}

TEST(Facts, OutputChannelsOfWeights) {
  EXPECT_EQ(output_channel_axis(*node_of("", "Conv"), 4), 0);
  EXPECT_EQ(output_channel_axis(*node_of("", "DeformConv"), 4), 0);
  EXPECT_EQ(output_channel_axis(*node_of("", "QLinearConv"), 4), 0);
  EXPECT_EQ(output_channel_axis(*node_of("", "ConvTranspose"), 4), 1);
  EXPECT_EQ(output_channel_axis(*node_of("", "MatMul"), 3), 2);
  const auto gemm = node_of("", "Gemm");
  EXPECT_EQ(output_channel_axis(*gemm, 2), 1);
  gemm->attributes["transB"] = int64_t{1};
  EXPECT_EQ(output_channel_axis(*gemm, 2), 0);
  EXPECT_EQ(output_channel_axis(*node_of("", "Add"), 2), std::nullopt);
  EXPECT_EQ(output_channel_axis(*node_of("com.example", "Conv"), 4), std::nullopt);
}

TEST(Facts, RolesOfOperands) {
  const auto conv = node_of("", "QLinearConv"), concat = node_of("com.microsoft", "QLinearConcat"),
             sum = node_of("", "Sum"), unknown = node_of("com.example", "Sum");
  EXPECT_EQ(input_of(*conv, Role::kWeight), 3U);
  EXPECT_EQ(input_of(*conv, Role::kBias), 8U);
  EXPECT_EQ(input_of(*sum, Role::kBias), std::nullopt);
  EXPECT_EQ(operand(*conv, Role::kWeight), nullptr);  // it has no inputs yet
  EXPECT_EQ(role_of(*concat, 0), Role::kResultScale);
  EXPECT_EQ(role_of(*concat, 5), Role::kData);
  EXPECT_EQ(role_of(*concat, 9), Role::kScale);
  EXPECT_TRUE(has_role(*sum, 7, {Role::kMask, Role::kData}));
  EXPECT_FALSE(has_role(*sum, 7, {Role::kMask}));
  EXPECT_EQ(role_of(*unknown, 3), Role::kData);
}

}  // namespace
}  // namespace vernier::ops
