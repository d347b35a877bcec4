#include "vernier/diagnose/experiments/failing_node.h"

#include <gmock/gmock.h>

#include "odd_engine.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(FailingNode, IsFoundByHalvingTheModel) {
  for (const std::string node : {"k0", "k4", "k9"}) {
    OddOptions options;
    options.fails_with = node;
    OddEngine engine(options);
    Stopwatch watch(60);
    const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
    ASSERT_TRUE(found.root_cause) << node;
    EXPECT_THAT(found.root_cause->nodes, ElementsAre(node));
    EXPECT_EQ(found.root_cause->evidence.size(), 2U);
    EXPECT_LE(*options.runs, 7) << node;
  }
}

TEST(FailingNode, IsNotNamedWhereItIsNotKnown) {
  OddOptions options;
  options.fails_with = "k4";
  for (const bool takes_others : {false, true}) {
    OddEngine engine(takes_others ? OddOptions() : options, takes_others);
    Stopwatch watch(60);
    const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
    EXPECT_FALSE(found.root_cause) << found.root_cause->evidence[0].sentence;
    EXPECT_THAT(found.notes, Not(IsEmpty()));
  }
}

TEST(FailingNode, EndsWithTheTime) {
  OddOptions options;
  options.fails_with = "k4";
  OddEngine engine(options);
  Stopwatch watch(0);
  const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
  EXPECT_FALSE(found.root_cause);
  EXPECT_LE(*options.runs, 1);
}

}  // namespace
}  // namespace vernier
