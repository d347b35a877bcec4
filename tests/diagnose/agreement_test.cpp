#include <gmock/gmock.h>

#include "vernier/diagnose/experiments/outputs_compared.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OutputsBySample of(const std::vector<double>& values) {
  OutputsBySample outputs;
  outputs[0]["y"] = Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values);
  return outputs;
}

ComparisonResult judged(Verdict verdict) {
  ComparisonResult result;
  result.verdict = verdict;
  return result;
}

TEST(Agreement, TellsWhoStandsAlone) {
  const auto right = of({1, 2, 3}), near = of({1, 2, 3.00001F}), wrong = of({1, 5, 3}),
             alike = of({1, 5.01, 3}), other = of({4, 2, 3});
  const auto pass = judged(Verdict::kPass), fail = judged(Verdict::kFail);
  const auto found = agreements({{"a", &pass, &right},
                                 {"b", &pass, &near},
                                 {"c", &fail, &wrong},
                                 {"d", &fail, &alike},
                                 {"e", &fail, &other}},
                                "reference", right);
  EXPECT_THAT(found.at(0).agrees_with, ElementsAre("reference", "b"));
  EXPECT_THAT(found.at(1).agrees_with, ElementsAre("reference", "a"));
  EXPECT_THAT(found.at(2).agrees_with, ElementsAre("d"));
  EXPECT_THAT(found.at(3).agrees_with, ElementsAre("c"));
  EXPECT_THAT(found.at(4).agrees_with, IsEmpty());
  EXPECT_THAT(agreement_sentence(found), ::testing::HasSubstr("'e' stands alone"));
}

TEST(Agreement, EnginesThatDoNotRunAgreeWithNobody) {
  const OutputsBySample none, right = of({1});
  const auto fail = judged(Verdict::kFail);
  const auto found = agreements({{"a", &fail, &none}, {"b", &fail, &none}}, "reference", right);
  for (const EngineAgreement& each : found) EXPECT_THAT(each.agrees_with, IsEmpty());
}

}  // namespace
}  // namespace vernier
