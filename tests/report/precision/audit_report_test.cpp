#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "vernier/report/precision/plan_report.h"

namespace vernier {
namespace {

using testing::HasSubstr;

PrecisionAudit sample() {
  const auto f32 = ElementType::kFloat, bf16 = ElementType::kBFloat16;
  PrecisionAudit audit;
  const LayerPrecision layer{bf16, f32, bf16, {}, LayerPrecision::By::kRule, "a contraction", false};
  audit.rows.push_back(
      {"conv", "Conv", layer, {ExecutedPrecision::How::kKernel, "onednn:jit", f32, f32, bf16, bf16}, ""});
  audit.rows.push_back({"bad\nname",
                        "MatMul",
                        layer,
                        {ExecutedPrecision::How::kReference, "reference", {}, {}, {}, {}},
                        "stored f16, not bf16"});
  audit.rows.push_back({"gone", "", std::nullopt, {ExecutedPrecision::How::kFolded, "", {}, {}, {}, {}}, ""});
  return audit;
}

TEST(AuditReport, WhatDiffersComesFirst) {
  const std::string text = audit_text(sample(), 2);
  EXPECT_THAT(text, HasSubstr("1 of 3 nodes differ"));
  EXPECT_LT(text.find("stored f16, not bf16"), text.find("as planned"));
  EXPECT_THAT(text, HasSubstr("bf16/f32/bf16"));
  EXPECT_THAT(text, HasSubstr("1 more"));
  EXPECT_THAT(text, HasSubstr("bad\\x0aname"));
}

TEST(AuditReport, Int8ThatIsComputedAsFloatsIsSeen) {
  PrecisionAudit audit = sample();
  audit.rows[0].requested->compute = ElementType::kInt8;
  EXPECT_THAT(audit_text(audit, 3), HasSubstr("wider"));
}

TEST(AuditReport, Json) {
  const auto json = nlohmann::json::parse(audit_json(sample()));
  EXPECT_EQ(json.at("differences"), 1);
  EXPECT_EQ(json.at("nodes").at(0).at("requested").at("compute"), "bf16");
  EXPECT_EQ(json.at("nodes").at(1).at("how"), "reference");
  EXPECT_FALSE(json.at("nodes").at(2).contains("requested"));
}

}  // namespace
}  // namespace vernier
