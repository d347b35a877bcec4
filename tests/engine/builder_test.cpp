// What the builder makes of a model: engines tuned for its sizes; and where approximate tactics are too much
// for its tolerances, with fewer, or with none.
#include "vernier/engine/builder.h"

#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/tiles/tile_block.h"
#include "vernier/backends/cpu/tiles/tile_contraction.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/kept_tactics.h"
#include "vernier/engine/planned_runner.h"

namespace vernier {
namespace {

constexpr int64_t kTerms = 32, kColumns = 256;

Tensor weights(unsigned seed, double scale, const Tensor* near = nullptr) {
  auto values = noise({kTerms, kColumns}, seed).to_doubles();
  const auto base = near == nullptr ? std::vector<double>(values.size(), 0.0) : near->to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] = base[i] + scale * values[i];
  return Tensor::from_doubles(ElementType::kFloat, {kTerms, kColumns}, values);
}

// y is the small difference of two large products: whatever one of them loses is a large part of y. z is a
// product like any other.
Model cancelling_model() {
  Model model = parse_graph(R"(graph "g" (%x: f32[64, 32]) -> (%i) {
    %i: f32[*] = Identity(%x) version 14 @"i" from ["i"]
  })");
  Graph& graph = *model.graph;
  const auto node = [&](const char* op, int64_t version, std::vector<Value*> inputs, const char* output) {
    return append(graph, op, version, std::move(inputs), output)->output(0);
  };
  Value* x = graph.inputs[0];
  const Tensor first = weights(1, 40), second = weights(2, 4e-3, &first);
  Value* p = node("MatMul", 13, {x, graph.add_constant("a", first)}, "p");
  Value* q = node("MatMul", 13, {x, graph.add_constant("b", second)}, "q");
  Value* y = node("Sub", 14, {p, q}, "y");
  Value* z = node("MatMul", 13, {x, graph.add_constant("c", weights(3, 0.1))}, "z");
  graph.outputs = {y, z};
  return model;
}

TimingCache::Times as_if_timed(const TuneResult& result) {
  TimingCache::Times times;
  for (const auto& [tactic, record] : result.records) times[tactic] = tactic == cpu::kTwoPieces ? 1e-3 : 2e-3;
  return times;
}

class BuilderTest : public testing::Test {
 protected:
  void SetUp() override {
    VERNIER_NEEDS(kAmx);
    options_.tune.only = {cpu::kTwoPieces};
    options_.timing_cache = std::make_shared<TimingCache>(timing_device());
    // Whatever was timed: the approximate tactic shall be by far the fastest.
    const auto engine = tuned();
    ASSERT_FALSE(engine->tuning().empty());
    for (const TuneResult& result : engine->tuning()) {
      ASSERT_TRUE(result.records.contains(cpu::kTwoPieces));
      options_.timing_cache->put(result.request, as_if_timed(result));
    }
    EXPECT_EQ(approximate_nodes(*tuned()), 3U);
  }

  std::shared_ptr<Engine> tuned() const { return Builder(model_, options_).build({}, Judge::kNever).engine; }

  static std::vector<std::string> approximate_kernels(const Engine& engine) {
    std::vector<std::string> nodes;
    for (const Step& step : engine.prepared().at(0).plan->steps) {
      if (step.kernel && step.kernel->name.find(cpu::kTwoPieces) != std::string::npos)
        nodes.insert(nodes.end(), step.node->provenance.begin(), step.node->provenance.end());
    }
    return nodes;
  }

  Model model_ = cancelling_model();
  BuildOptions options_;
};

TEST_F(BuilderTest, GivesUpWhereItMust) {
  const BuiltEngine made = Builder(model_, options_).build();
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::ElementsAre("node_z"));
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(
      made.notes[0],
      "with tactics that approximate in 3 nodes the verdict was fail: given up in 2 of them, 2.00 ms of "
      "a run as timed");
  EXPECT_GT(made.build_seconds, 0);
  EXPECT_GT(made.verdict_seconds, 0);
}

TEST_F(BuilderTest, GivesUpAllWhereNoneCanStay) {
  model_.graph->outputs.pop_back();  // z
  const BuiltEngine made = Builder(model_, options_).build();
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::IsEmpty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0], "with tactics that approximate in 2 nodes the verdict was fail: given up in all");
}

TEST_F(BuilderTest, KeepsAllWhereTheyPass) {
  model_.graph->outputs.erase(model_.graph->outputs.begin());  // y
  const BuiltEngine made = Builder(model_, options_).build();
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::ElementsAre("node_z"));
  EXPECT_THAT(made.notes, testing::IsEmpty());
}

TEST_F(BuilderTest, AVerdictThatFailsWhateverIsChosenFails) {
  AccuracyOptions how;
  how.compare.tolerances.atol.general = how.compare.tolerances.rtol.general = 0;
  how.compare.noise_factor = 0;
  const BuiltEngine made = Builder(model_, options_).build({}, Judge::kAlways, how);
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kFail);
  EXPECT_FALSE(made.accuracy->against_ideal.empty());
  EXPECT_THAT(approximate_kernels(*made.engine), testing::IsEmpty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_THAT(made.notes[0], testing::EndsWith("given up in all"));
}

TEST_F(BuilderTest, TheSameTimesGiveTheSameBytes) {
  const TemporaryFolder folder;
  std::vector<std::string> contents;
  for (const char* name : {"one.engine", "other.engine"}) {
    save_engine(*Builder(model_, options_).build().engine, folder.path() / name, {});
    contents.push_back(content_of(folder.path() / name));
  }
  EXPECT_EQ(contents[0], contents[1]);
  // What was kept is in the file.
  EXPECT_THAT(approximate_kernels(*load_engine(folder.path() / "one.engine").engine),
              testing::ElementsAre("node_z"));
}

TEST_F(BuilderTest, PlansOfSizesWithoutSamplesKeepWhatOthersKeep) {
  model_.graph->inputs[0]->type = ValueType::of(ElementType::kFloat, Shape{Dim::symbol("N"), Dim(kTerms)});
  options_.profiles = {{{{"x", {{32, 64, 64}, {kTerms, kTerms, kTerms}}}}}};
  const auto engine = tuned();
  for (const TuneResult& result : engine->tuning())
    options_.timing_cache->put(result.request, as_if_timed(result));
  const BuiltEngine made = Builder(model_, options_).build();
  ASSERT_EQ(made.engine->prepared().size(), 2U);
  for (const auto& prepared : made.engine->prepared())
    EXPECT_EQ(prepared.plan->choices.tactics, (std::map<std::string, std::string>{{"z", cpu::kTwoPieces}}));
}

Model typed_model() {
  Model model = small_model();
  ops::infer_types(*model.graph);
  return model;
}

std::string input_text(const Engine& engine) {
  return engine.prepared().size() == 1 ? engine.prepared()[0].inputs.at(0).text() : "none";
}

TEST(Builder, TunesFreeDimensionsAtOne) {
  const Model model = typed_model();
  const BuiltEngine made = Builder(model, {}).build();
  EXPECT_EQ(input_text(*made.engine), "f32[1, 16, 6, 6]");
  EXPECT_FALSE(made.engine->tuning().empty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(
      made.notes[0],
      "free dimensions are tuned at x: 1x16x6x6 (no shapes were given); other sizes run with the choices "
      "made for these");
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kPass);
  EXPECT_THAT(made.accuracy->samples.at(0), testing::HasSubstr("N=1"));
  EXPECT_NE(run(made.engine, 5), "");  // such sizes are not refused
}

TEST(Builder, TunesFreeDimensionsAtTheSizesOfTheFirstSample) {
  const Model model = typed_model();
  const BuiltEngine made =
      Builder(model, {}).build({{"given", {{"x", noise({3, 16, 6, 6}, 7)}}, {}, {}}}, Judge::kNever);
  EXPECT_EQ(input_text(*made.engine), "f32[3, 16, 6, 6]");
  EXPECT_THAT(made.notes.at(0), testing::HasSubstr("the sizes of the first sample"));
}

TEST(Builder, WhereOneIsNoSizeOfTheModelItTriesOthers) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N]) -> (%y) {
    const %two = i64[2] hex"0200000000000000ffffffffffffffff"
    %r: f32[*] = Reshape(%x, %two) version 14 @"r" from ["r"]
    %y: f32[*] = Relu(%r) version 14 @"e" from ["e"]
  })");
  const BuiltEngine made = Builder(model, {}).build();
  ASSERT_EQ(made.engine->prepared().size(), 1U);
  EXPECT_EQ(to_dims(*made.engine->prepared()[0].inputs[0].tensor.shape)->at(0) % 2, 0);
  EXPECT_THAT(made.notes.at(0), testing::HasSubstr("the model does not take 1"));
}

TEST(Builder, WhatNothingIsKnownToSuitIsNotTuned) {
  const Model unranked = parse_graph(R"(graph "g" (%x: f32[*]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"e" from ["e"]
  })");
  const BuiltEngine made = Builder(unranked, {}).build({}, Judge::kNever);
  EXPECT_TRUE(made.engine->prepared().empty());
  EXPECT_THAT(made.notes.at(0), testing::StartsWith("free dimensions are not tuned: "));
  EXPECT_EQ(Session(made.engine).run({{"x", noise({2}, 1)}}).size(), 1U);
}

TEST(Builder, WhatNothingCanBeDrawnForIsNotCompared) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[*]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"e" from ["e"]
  })");
  const BuiltEngine made = Builder(model, {}).build();
  ASSERT_TRUE(made.accuracy);
  EXPECT_EQ(made.accuracy->verdict(), Verdict::kNotCompared);
  EXPECT_THAT(made.accuracy->planned.reasons.at(0), testing::HasSubstr("its rank"));
}

// The tactic of a node, at sizes that were not prepared.
std::string kernel_of(const std::shared_ptr<Engine>& engine, int64_t size, const std::string& node) {
  Session session(engine);
  const auto plan = session.plan({{"x", noise({size, 16, 6, 6}, 7)}});
  for (const Step& step : plan->steps) {
    if (step.node != nullptr && step.node->provenance.contains(node))
      return step.kernel ? step.kernel->name : "none";
  }
  return "no step";
}

TEST(Builder, OtherSizesRunWithTheChoicesOfTheNearest) {
  const auto engine = Engine::build(small_model(), untuned());
  const PlanChoices by_reference{Layout::kChannelsLast, {{"conv", kReferenceTactic}}};
  engine->prepare(batch(2), &by_reference);
  EXPECT_EQ(kernel_of(engine, 2, "node_conv"), "none");
  EXPECT_EQ(kernel_of(engine, 3, "node_conv"), "none");
  const PlanChoices own;
  engine->prepare(batch(40), &own);
  EXPECT_EQ(kernel_of(engine, 4, "node_conv"), "none");
  EXPECT_NE(kernel_of(engine, 30, "node_conv"), "none");
}

TEST(Builder, ATacticThatRefusesOtherSizesGivesWayToTheBackendsChoice) {
  const auto engine = Engine::build(small_model(), untuned()),
             plain = Engine::build(small_model(), untuned());
  const PlanChoices unknown{Layout::kChannelsLast, {{"conv", "sideways"}}};
  engine->prepare(batch(2), &unknown);
  for (const int64_t size : {2, 3})
    EXPECT_EQ(kernel_of(engine, size, "node_conv"), kernel_of(plain, size, "node_conv"));
  EXPECT_TRUE(engine->prepared()[0].plan->choices.tactics.empty());  // the file says what is
}

TEST(Builder, RunnersAreTunedForTheirFirstData) {
  const Model model = typed_model();
  const auto source = std::make_shared<EngineOnDemand>(model, BuildOptions());
  EngineRunner runner(source);
  PlannedRunner planned(source);
  EXPECT_TRUE(runner.engine()->prepared().empty());
  const NamedData data{{"x", noise({2, 16, 6, 6}, 7)}};
  const Trace promised = planned.run(data, {}), trace = runner.run(data, {});
  EXPECT_EQ(input_text(*runner.engine()), "f32[2, 16, 6, 6]");
  EXPECT_FALSE(runner.engine()->tuning().empty());
  EXPECT_EQ(compare(promised, trace).verdict, Verdict::kPass);
}

TEST(Builder, ATacticThatIsForcedIsTakenWhereverItServes) {
  const Model model = typed_model();
  const auto offered = Builder(model, {}).build({}, Judge::kNever).engine->offered_tactics();
  for (const std::string& tactic : offered) {
    BuildOptions options;
    options.tune.forced = tactic;
    const auto engine = Builder(model, options).build({}, Judge::kNever).engine;
    const auto& tactics = engine->prepared().at(0).plan->choices.tactics;
    EXPECT_TRUE(std::any_of(tactics.begin(), tactics.end(), [&](const auto& entry) {
      return entry.second == tactic;
    })) << tactic;
  }
  BuildOptions options;
  options.tune.forced = "sideways";
  EXPECT_THROW(Builder(model, options).build({}, Judge::kNever), Error);
}

TEST(Builder, ATacticThatIsForcedAndInQuarantineIsAnError) {
  const Model model = typed_model();
  BuildOptions options;
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  const auto engine = Builder(model, options).build({}, Judge::kNever).engine;
  const auto& offered = engine->offered_tactics();
  if (offered.empty()) GTEST_SKIP() << "this processor has one way only for this model";
  options.tune.forced = *offered.begin();
  for (const TuneResult& result : engine->tuning()) {
    if (!result.records.contains(options.tune.forced)) continue;
    auto verdicts = options.timing_cache->verdicts(result.request, result.content);
    verdicts.at(options.tune.forced).fault = "it is wrong";
    options.timing_cache->put(result.request, result.content, verdicts);
  }
  try {
    Builder(model, options).build({}, Judge::kNever);
    FAIL() << "built";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("it is wrong"));
  }
}

}  // namespace
}  // namespace vernier
