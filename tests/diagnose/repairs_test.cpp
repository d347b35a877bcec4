// Repairs that are tried and verified, on an engine that loses a factor.
#include <filesystem>

#include "diagnose/odd_engine.h"
#include "vernier/base/file.h"
#include "vernier/diagnose/repairs/candidate.h"
#include "vernier/diagnose/repairs/find_repairs.h"
#include "vernier/diagnose/repairs/held_out.h"

namespace vernier {
namespace {

class OddWorkshop : public Workshop {
 public:
  OddWorkshop(const Model& model, OddOptions options) : model_(model), options_(std::move(options)) {}

  std::unique_ptr<Runner> make(const EngineChange& change, double) override {
    return std::make_unique<OddRunner>(
        RunnerModel{"", change.model.model == nullptr ? &model_ : change.model.model}, options_);
  }
  bool takes(const std::string&) const override { return false; }
  const PrecisionPlan* plan(Runner&) const override { return nullptr; }
  std::string command(const EngineChange& change) const override {
    return "run " + change.model.path.string();
  }

 private:
  const Model& model_;
  OddOptions options_;
};

struct Search {
  OddEngine engine;
  TemporaryFolder folder;
  ReferenceRunner reference;
  std::vector<Sample> samples;
  Diagnosis diagnosis;

  explicit Search(const OddOptions& odd, int failure = 31) : engine(odd), reference({"", &engine.model}) {
    for (uint64_t seed = 1; seed <= 3; ++seed)
      samples.push_back({"drawn", {{"x", OddEngine::noise({4, 8}, seed)}}, {}, {}});
    Culprit& culprit = diagnosis.culprits.emplace_back();
    culprit.nodes = {"k3"};
    culprit.failure = FailureClass(failure);
    culprit.share = 1;
    culprit.repair = {Repair::Kind::kRewrite, "write it otherwise"};
    RepairOptions options;
    options.workshop = [&](const Runner&) { return std::make_unique<OddWorkshop>(engine.model, odd); };
    options.folder = folder.path() / "repairs";
    find_repairs({engine.model, *engine.runner, reference, samples, 0, {}, 1, nullptr}, options, diagnosis);
  }

  const Repair& repair() const { return diagnosis.culprits.front().repair; }
};

TEST(Repairs, TheFirstThatHoldsIsTaken) {
  const Search search({.plant = without_factor("k3")});
  const Repair& repair = search.repair();
  EXPECT_EQ(repair.kind, Repair::Kind::kRewrite);
  EXPECT_THAT(repair.sentence, testing::HasSubstr("2 other samples"));
  ASSERT_TRUE(repair.verified);
  EXPECT_TRUE(repair.verified->passes);
  EXPECT_EQ(repair.verified->samples, 2U);
  EXPECT_GT(repair.verified->relative_l2_before, 1e-3);
  EXPECT_LT(repair.verified->relative_l2_after, 1e-6);
  EXPECT_TRUE(std::filesystem::exists(repair.file));
  // Outputs more do not keep this engine from losing the factor.
  ASSERT_EQ(repair.rejected.size(), 1U);
  EXPECT_THAT(repair.rejected[0].what, testing::HasSubstr("outputs of the model"));
}

TEST(Repairs, BarriersAreOutputsThatNobodySees) {
  const Search search({.plant = without_factor("k3"), .heals = {"n3"}});
  EXPECT_THAT(search.repair().sentence, testing::HasSubstr("outputs of the model"));
  EXPECT_TRUE(search.repair().verified);
}

TEST(Repairs, NoneIsSaidWhereNoneHolds) {
  // Whatever stands in the place of the product, what it is read by reads the other factor alone.
  const auto skip = [](Model& model) {
    find_node(model, "k4")->inputs[0] = find_node(model, "k2")->outputs[0];
  };
  const Search search({.plant = skip});
  EXPECT_EQ(search.repair().kind, Repair::Kind::kNone);
  EXPECT_FALSE(search.repair().verified);
  EXPECT_THAT(search.repair().sentence, testing::HasSubstr("write it otherwise"));
  EXPECT_FALSE(search.repair().rejected.empty());
}

TEST(Repairs, WhatCannotBeTriedStaysAdvice) {
  const Search search({.plant = without_factor("k3")}, 47);
  EXPECT_EQ(search.repair().sentence, "write it otherwise");
  EXPECT_FALSE(search.repair().verified);
}

TEST(HeldOut, SamplesAreNeverTheOneAtHand) {
  const std::vector<Sample> kept(5, Sample{"given", {{"x", OddEngine::noise({2}, 1)}}, {}, {}});
  const HeldOut others = held_out_samples(kept, 1, nullptr, 1);
  EXPECT_EQ(others.samples.size(), 4U);
  EXPECT_EQ(others.origin, "4 other samples");
  const HeldOut varied = held_out_samples({kept[0]}, 0, nullptr, 1);
  ASSERT_EQ(varied.samples.size(), 2U);
  EXPECT_EQ(varied.origin, "2 variations of the sample at hand");
  for (const Sample& sample : varied.samples)
    EXPECT_FALSE(sample.inputs.at("x").tensor.identical(kept[0].inputs.at("x").tensor));
}

}  // namespace
}  // namespace vernier
