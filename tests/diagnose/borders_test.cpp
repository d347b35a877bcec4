#include <gmock/gmock.h>

#include "odd_engine.h"
#include "vernier/diagnose/experiments/narrowing.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Borders, AreWhatTheFirstNodesMakeForTheOthers) {
  const Model model = OddEngine::chain();
  const Borders borders(*model.graph);
  EXPECT_EQ(borders.nodes(), 10U);
  EXPECT_THAT(borders.at(0), IsEmpty());
  EXPECT_THAT(borders.at(1), ElementsAre("n0"));
  EXPECT_THAT(borders.at(5), ElementsAre("n1", "n4"));  // n1 is read by k6 again
  EXPECT_THAT(borders.behind("n3"), ElementsAre("n1", "n3"));
  EXPECT_THAT(borders.behind("n6"), ElementsAre("n6"));
  EXPECT_THAT(borders.at(10), IsEmpty());
  EXPECT_THAT(borders.behind("y"), IsEmpty());
}

}  // namespace
}  // namespace vernier
