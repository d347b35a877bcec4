#include <gtest/gtest.h>

#include "vernier/diagnose/causes/culprits.h"

namespace vernier {
namespace {

std::vector<Culprit> culprits_of(const std::vector<int>& classes) {
  std::vector<Culprit> culprits;
  for (const int number : classes) culprits.emplace_back().failure = FailureClass(number);
  return culprits;
}

std::vector<std::string> codes_of(const std::vector<Culprit>& culprits) {
  std::vector<std::string> codes;
  for (const Culprit& culprit : culprits) codes.push_back(culprit.failure.code());
  return codes;
}

TEST(CommonCauses, AnEpsilonIsLostByThePrecisionOfItsNeighbours) {
  auto culprits = culprits_of({5, 13, 32, 13});
  blame_precision_for_epsilons(culprits);
  EXPECT_EQ(codes_of(culprits), (std::vector<std::string>{"B13", "B13", "B32", "B13"}));
}

TEST(CommonCauses, AnEpsilonThatIsLostAloneIsOneOfItsOwn) {
  auto culprits = culprits_of({5, 13});
  blame_precision_for_epsilons(culprits);
  EXPECT_EQ(codes_of(culprits), (std::vector<std::string>{"B5", "B13"}));
}

}  // namespace
}  // namespace vernier
