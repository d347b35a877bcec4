#include <gtest/gtest.h>

#include "vernier/diagnose/causes/root_causes.h"

namespace vernier {
namespace {

std::vector<RootCause> root_causes_of(const std::vector<int>& classes) {
  std::vector<RootCause> root_causes;
  for (const int number : classes) root_causes.emplace_back().failure = FailureClass(number);
  return root_causes;
}

std::vector<std::string> codes_of(const std::vector<RootCause>& root_causes) {
  std::vector<std::string> codes;
  for (const RootCause& root_cause : root_causes) codes.push_back(root_cause.failure.code());
  return codes;
}

TEST(CommonCauses, AnEpsilonIsLostByThePrecisionOfItsNeighbours) {
  auto root_causes = root_causes_of({5, 13, 32, 13});
  blame_precision_for_epsilons(root_causes);
  EXPECT_EQ(codes_of(root_causes), (std::vector<std::string>{"B13", "B13", "B32", "B13"}));
}

TEST(CommonCauses, AnEpsilonThatIsLostAloneIsOneOfItsOwn) {
  auto root_causes = root_causes_of({5, 13});
  blame_precision_for_epsilons(root_causes);
  EXPECT_EQ(codes_of(root_causes), (std::vector<std::string>{"B5", "B13"}));
}

}  // namespace
}  // namespace vernier
