// Repairs that are tried and verified, on an engine that loses a factor.
#include <filesystem>

#include "diagnose/diagnosed.h"
#include "diagnose/odd_engine.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/diagnose/repairs/candidate.h"
#include "vernier/diagnose/repairs/evaluator.h"
#include "vernier/diagnose/repairs/find_repairs.h"
#include "vernier/ir/hash.h"

namespace vernier {
namespace {

class OddRepairBuilder : public RepairBuilder {
 public:
  OddRepairBuilder(const Model& model, OddOptions options) : model_(model), options_(std::move(options)) {}

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
    RootCause& root_cause = diagnosis.root_causes.emplace_back();
    root_cause.nodes = {"k3"};
    root_cause.failure = FailureClass(failure);
    root_cause.share = 1;
    root_cause.repair = {Repair::Kind::kRewrite, "write it otherwise"};
    RepairOptions options;
    options.repair_builder = [&](const Runner&) {
      return std::make_unique<OddRepairBuilder>(engine.model, odd);
    };
    options.folder = folder.path() / "repairs";
    find_repairs({engine.model, *engine.runner, reference, samples, 0, {}, 1, nullptr}, options, diagnosis);
  }

  const Repair& repair() const { return diagnosis.root_causes.front().repair; }
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

// Two faults: k3 loses its factor wherever it is a Mul, and k8 is off by a factor as long as the plan has it
// in bfloat16.
class TypedRepairBuilder : public OddRepairBuilder {
 public:
  TypedRepairBuilder(const Model& model, double off)
      : OddRepairBuilder(model, {}), model_(model), off_(off), plan_(narrow_plan(model)) {}

  // Gives the types that an engine of the model computes in if nobody asks for others.
  static PrecisionPlan narrow_plan(const Model& model) {
    PrecisionPlan plan;
    plan.model = hash_to_text(structural_hash(*model.graph));
    for (const std::string& node : onnx_nodes(*model.graph)) plan.layers[node].store = ElementType::kBFloat16;
    return plan;
  }
  std::unique_ptr<Runner> make(const EngineChange& change, double) override {
    const Model& model = change.model.model == nullptr ? model_ : *change.model.model;
    // A plan that is not for the model is an error.
    const PrecisionPlan plan =
        change.plan.empty() ? narrow_plan(model) : read_plan(change.plan, *model.graph);
    auto runner = engine(model, plan);
    plans_[runner.get()] = plan;
    return runner;
  }
  std::unique_ptr<OddRunner> engine(const Model& model, const PrecisionPlan& plan) const {
    const LayerPrecision* layer = plan.find("k8");
    const bool is_narrow = layer != nullptr && layer->store != ElementType::kFloat;
    const auto plant = [is_narrow, off = off_](Model& made) {
      without_factor("k3")(made);
      if (!is_narrow) return;
      Value* factor = find_node(made, "k8")->inputs[1];
      auto values = factor->constant->to_doubles();
      for (double& value : values) value *= off;
      factor->constant = Tensor::from_doubles(ElementType::kFloat, factor->constant->dims(), values);
    };
    return std::make_unique<OddRunner>(RunnerModel{"", &model}, OddOptions{.plant = plant});
  }
  const PrecisionPlan* plan(Runner& engine) const override {
    const auto found = plans_.find(&engine.original());
    return found == plans_.end() ? &plan_ : &found->second;
  }
  const PrecisionPlan& first_plan() const { return plan_; }

 private:
  const Model& model_;
  double off_;
  PrecisionPlan plan_;
  std::map<const Runner*, PrecisionPlan> plans_;
};

// The repairs of both, in the order of the root causes.
std::vector<Repair> repairs_of_both(const std::vector<std::pair<std::string, int>>& root_causes, double off) {
  const OddEngine engine({});
  TypedRepairBuilder first(engine.model, off);
  const auto runner = first.engine(engine.model, first.first_plan());
  ReferenceRunner reference({"", &engine.model});
  std::vector<Sample> samples;
  for (uint64_t seed = 1; seed <= 3; ++seed)
    samples.push_back({"drawn", {{"x", OddEngine::noise({4, 8}, seed)}}, {}, {}});
  Diagnosis diagnosis;
  for (const auto& [node, failure] : root_causes) {
    RootCause& root_cause = diagnosis.root_causes.emplace_back();
    root_cause.nodes = {node};
    root_cause.failure = FailureClass(failure);
    root_cause.share = 0.2;
  }
  const TemporaryFolder folder;
  RepairOptions options;
  options.repair_builder = [&](const Runner&) {
    return std::make_unique<TypedRepairBuilder>(engine.model, off);
  };
  options.folder = folder.path();
  find_repairs({engine.model, *runner, reference, samples, 0, {}, 1, nullptr}, options, diagnosis);
  return {diagnosis.root_causes[0].repair, diagnosis.root_causes[1].repair};
}

TEST(Repairs, APlanFollowsARewrite) {
  const auto repairs = repairs_of_both({{"k3", 31}, {"k8", 2}}, 1.02);
  EXPECT_EQ(repairs[0].kind, Repair::Kind::kRewrite);
  EXPECT_EQ(repairs[1].kind, Repair::Kind::kPlan);
  ASSERT_TRUE(repairs[1].verified);
  EXPECT_TRUE(repairs[1].verified->passes);
}

TEST(Repairs, ARewriteKeepsThePlanBeforeIt) {
  const auto repairs = repairs_of_both({{"k8", 2}, {"k3", 31}}, 3);
  EXPECT_EQ(repairs[0].kind, Repair::Kind::kPlan);
  EXPECT_EQ(repairs[1].kind, Repair::Kind::kRewrite);
  ASSERT_TRUE(repairs[1].verified);
  EXPECT_TRUE(repairs[1].verified->passes);
}

// Each run adds what the runs before have left in a buffer.
class Accumulating : public OddRunner {
 public:
  explicit Accumulating(const RunnerModel& model) : OddRunner(model, {}) {}

  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    Trace trace = OddRunner::run(inputs, taps);
    for (TraceEntry& entry : trace.entries) {
      auto values = entry.datum.tensor.to_doubles();
      left_.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) left_[i] = values[i] += left_[i];
      const Tensor& tensor = entry.datum.tensor;
      entry.datum = Tensor::from_doubles(tensor.type(), tensor.dims(), values);
    }
    return trace;
  }

 private:
  std::vector<double> left_;
};

class AccumulatingRepairBuilder : public OddRepairBuilder {
 public:
  explicit AccumulatingRepairBuilder(const Model& model) : OddRepairBuilder(model, {}), model_(model) {}
  std::unique_ptr<Runner> make(const EngineChange&, double) override {
    return std::make_unique<Accumulating>(RunnerModel{"", &model_});
  }

 private:
  const Model& model_;
};

TEST(Repairs, AnEngineThatLeavesSomethingIsStartedAnew) {
  const OddEngine engine({});
  Accumulating runner({"", &engine.model});
  ReferenceRunner reference({"", &engine.model});
  const std::vector<Sample> samples(2, Sample{"drawn", engine.inputs, {}, {}});
  runner.run(engine.inputs, {});  // of the diagnosis
  Diagnosis diagnosis;
  RootCause& root_cause = diagnosis.root_causes.emplace_back();
  root_cause.nodes = {"k3"};
  root_cause.failure = FailureClass(46);
  root_cause.share = 1;
  RepairOptions options;
  options.repair_builder = [&](const Runner&) {
    return std::make_unique<AccumulatingRepairBuilder>(engine.model);
  };
  find_repairs({engine.model, runner, reference, samples, 0, {}, 1, nullptr}, options, diagnosis);
  ASSERT_TRUE(root_cause.repair.verified);
  EXPECT_THAT(root_cause.repair.sentence, testing::HasSubstr("anew for each run"));
  EXPECT_EQ(root_cause.repair.rejected.size(), 1U);  // a second run of the same is no more right
}

TEST(Repairs, PlansAreCarriedOverByName) {
  const Model model = OddEngine::chain();
  PrecisionPlan plan;
  for (const std::string& node : onnx_nodes(*model.graph)) plan.layers[node].store = ElementType::kBFloat16;
  const Model rewritten = OddEngine::parsed(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4, 8]) -> (%y) {
    %n: f32[*] = Relu(%x) version 17 @"k1" from ["k1"]
    %m: f32[*] = Neg(%n) version 17 @"k3~Neg" from ["k3~Neg"]
    %y: f32[*] = Neg(%m) version 17 @"other" from ["other"]
  } })");
  const PrecisionPlan carried = carried_plan(plan, *rewritten.graph);
  EXPECT_EQ(carried.model, hash_to_text(structural_hash(*rewritten.graph)));
  ASSERT_EQ(carried.layers.size(), 2U);
  EXPECT_EQ(carried.find("k3~Neg")->store, ElementType::kBFloat16);
  EXPECT_NE(carried.find("k1"), nullptr);
}

TEST(Repairs, WhatWasFoundStaysWhereNoneCanBeLookedFor) {
  RepairOptions options;
  options.repair_builder = [](const Runner&) -> std::unique_ptr<RepairBuilder> {
    throw bad_input("no builder");
  };
  const Diagnosis diagnosis = diagnosed(R"(graph "g" (%x: f32[8]) -> (%y) {
    %y: f32[*] = Tanh(%x) version 13 @"t" from ["t"] })",
                                        {{"x", wave({8}, 0.7)}}, add_to_element("t", 3, 0.5), options);
  EXPECT_THAT(first_of(diagnosis), testing::HasSubstr("at t"));
  EXPECT_THAT(diagnosis.notes, testing::Contains(testing::HasSubstr("no builder")));
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
