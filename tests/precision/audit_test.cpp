// An audit that could not fail would prove nothing.
#include "vernier/precision/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier {
namespace {

using testing::HasSubstr;
constexpr auto f32 = ElementType::kFloat, bf16 = ElementType::kBFloat16, f16 = ElementType::kFloat16;

LayerPrecision requested(ElementType compute, ElementType accumulate, ElementType store) {
  return {compute, accumulate, store, {}, LayerPrecision::By::kRule, "", false};
}

ExecutedPrecision executed(ElementType compute, ElementType accumulate, ElementType store, ElementType said) {
  return {ExecutedPrecision::How::kKernel, "kernel", compute, accumulate, store, said};
}

TEST(Audit, AsRequestedOrWiderIsNoDifference) {
  EXPECT_EQ(difference(requested(bf16, f32, bf16), executed(bf16, f32, bf16, bf16)), "");
  EXPECT_EQ(difference(requested(bf16, f32, bf16), executed(f32, f32, bf16, bf16)), "");
  EXPECT_EQ(difference(requested(bf16, f32, bf16), executed(f32, f32, f32, f32)), "");
}

TEST(Audit, NarrowerIsADifference) {
  EXPECT_THAT(difference(requested(f32, f32, f32), executed(f32, f32, bf16, bf16)), HasSubstr("stored bf16"));
  EXPECT_THAT(difference(requested(f32, f32, f32), executed(bf16, f32, f32, f32)),
              HasSubstr("computed bf16"));
  EXPECT_THAT(difference(requested(f16, f32, f16), executed(f32, f16, f16, f16)),
              HasSubstr("accumulated f16"));
  EXPECT_THAT(difference(requested(f16, f32, f16), executed(f32, f32, bf16, bf16)), HasSubstr("stored bf16"));
}

TEST(Audit, Tf32IsNarrowerThanF32AndWiderThan16Bits) {
  ExecutedPrecision by_tf32 = executed(f32, f32, f32, f32);
  by_tf32.tf32 = true;
  EXPECT_EQ(difference(requested(f32, f32, f32), by_tf32), "computed tf32, not f32");
  LayerPrecision asked = requested(f32, f32, f32);
  asked.tf32 = true;
  EXPECT_EQ(difference(asked, by_tf32), "");
  EXPECT_EQ(difference(asked, executed(f32, f32, f32, f32)), "");
  EXPECT_EQ(difference(requested(f16, f32, f32), by_tf32), "");
  EXPECT_EQ(compute_name(by_tf32), "tf32");
}

TEST(Audit, MovingBitsLosesNone) {
  const auto none = ElementType::kUndefined;
  EXPECT_EQ(difference(requested(f32, f32, f32), executed(none, none, bf16, none)), "");
  ExecutedPrecision by_reference = executed(none, none, ElementType::kUint8, none);
  by_reference.how = ExecutedPrecision::How::kReference;
  EXPECT_EQ(difference(requested(f32, f32, f32), by_reference), "");
  by_reference.compute = ElementType::kDouble;
  EXPECT_THAT(difference(requested(f32, f32, f32), by_reference), HasSubstr("stored u8"));
}

TEST(Audit, AKernelThatLies) {
  EXPECT_THAT(difference(requested(bf16, f32, bf16), executed(f32, f32, bf16, f32)), HasSubstr("says"));
}

TEST(Audit, WhatTheUserSetMustBeThat) {
  LayerPrecision layer = requested(f32, f32, bf16);
  layer.by = LayerPrecision::By::kUser;
  EXPECT_THAT(difference(layer, executed(f32, f32, f32, f32)), HasSubstr("stored f32, not bf16"));
  EXPECT_THAT(difference(layer, executed(ElementType::kInt64, f32, ElementType::kInt64, ElementType::kInt64)),
              HasSubstr("stored i64"));
}

TEST(Audit, TheFirstDifferencesAreNamed) {
  PrecisionAudit audit;
  for (const char* node : {"a", "b", "c", "d", "e"})
    audit.rows.push_back(
        {node, "Conv", std::nullopt, {}, node == std::string("a") ? "" : "stored f16, not f32"});
  EXPECT_EQ(audit.differences(), 4);
  const PrecisionDifference error(audit);
  EXPECT_THAT(error.what(), HasSubstr("4 nodes"));
  EXPECT_THAT(error.what(), HasSubstr("'b'"));
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("'e'")));
}

}  // namespace
}  // namespace vernier
