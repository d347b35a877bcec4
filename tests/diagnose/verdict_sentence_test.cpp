// Tests the first line of a diagnosis where no node is to blame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/diagnose/diagnose.h"

namespace vernier {
namespace {

std::string sentence_of(double needs, double bound, double planned_engine) {
  Diagnosis diagnosis;
  ErrorSplit split;
  split.output = "y";
  split.needs = needs, split.bound = bound, split.planned_engine = planned_engine;
  split.sentence = "so far off";
  diagnosis.split = {split};
  return verdict_sentence(diagnosis, "cpu", {});
}

TEST(VerdictSentence, ClearsAnEngineThatMakesWhatItsPlanMeans) {
  EXPECT_EQ(sentence_of(1, 0.1, 1e-7),
            "cpu is sound, but its plan costs more than rounding explains: 'y' is so far off");
}

TEST(VerdictSentence, DoesNotClearOneThatMakesSomethingElse) {
  EXPECT_THAT(sentence_of(1, 0.1, 0.9), testing::StartsWith("cpu differs, and no node"));
  EXPECT_THAT(sentence_of(HUGE_VAL, 0.1, HUGE_VAL), testing::StartsWith("cpu differs, and no node"));
}

}  // namespace
}  // namespace vernier
