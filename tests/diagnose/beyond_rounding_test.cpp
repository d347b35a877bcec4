// Errors that the tolerance of a type accepts, and that no rounding makes.
#include "diagnose/diagnosed.h"
#include "odd_engine.h"

namespace vernier {
namespace {

Diagnosis diagnosis_of(const OddOptions& options) {
  const OddEngine engine(options);
  ReferenceRunner reference({{}, &engine.model});
  OneSample sample(engine.inputs);
  DiagnosisJob job;
  job.model = &engine.model;
  job.engine = {engine.runner.get(), engine.subject.get()};
  job.against = &reference;
  return diagnose(job, sample);
}

// A factor of 0.125 in a kernel that comes apart where it is looked into.
OddOptions with_factor(double factor) {
  const auto plant = [factor](Model& model) {
    if (Node* node = find_node(model, "k3"))
      node->inputs[1]->constant = Tensor::from_doubles(ElementType::kFloat, {1}, std::vector{factor});
  };
  return {.plant = plant, .heals = {"n2", "n3"}};
}

TEST(BeyondRounding, IsNoHealthyEngine) {
  const Diagnosis found = diagnosis_of(with_factor(0.1251));
  EXPECT_FALSE(found.healthy) << found.sentence;
  EXPECT_EQ(found.verdict, Verdict::kFail);
  ASSERT_FALSE(found.culprits.empty());
  EXPECT_EQ(found.culprits[0].failure.code(), "B31");
  EXPECT_THAT(found.culprits[0].nodes, ::testing::Contains("k3"));
}

// Bounds are no law for what is a little more.
TEST(BeyondRounding, IsNotWhatIsNearTheBound) {
  const Diagnosis found = diagnosis_of(with_factor(0.12501));
  EXPECT_TRUE(found.healthy);
  EXPECT_NE(found.sentence.find("within tolerance, but 'y' is not explainable"), std::string::npos)
      << found.sentence;
}

TEST(BeyondRounding, IsNotWhereRoundingExplainsIt) {
  const Diagnosis found = diagnosis_of(with_factor(0.125 * (1 + 0x1p-23)));
  EXPECT_TRUE(found.healthy) << found.sentence;
  EXPECT_EQ(first_of(found), "none");
}

}  // namespace
}  // namespace vernier
