// Tests what the builder makes of a model: engines tuned for its sizes, or for those of the data, by the
// tactics that are told.
#include "vernier/builder/builder.h"

#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/planned_runner.h"

namespace vernier {
namespace {

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
  EXPECT_FALSE(made.engine->tuning().results.empty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(
      made.notes[0],
      "free dimensions are tuned at x: 1x16x6x6 (no shapes were given); other sizes run with the choices "
      "made for these");
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_THAT(made.certificate->samples.at(0), testing::HasSubstr("N=1"));
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
  ASSERT_TRUE(made.certificate);
  EXPECT_EQ(made.certificate->verdict, Verdict::kNotCompared);
  EXPECT_THAT(made.certificate->reasons.at(0), testing::HasSubstr("its rank"));
}

// The tactic of a node, at sizes that were not prepared.
std::string kernel_of(const std::shared_ptr<const Engine>& engine, int64_t size, const std::string& node) {
  Session session(engine);
  const auto plan = session.plan({{"x", noise({size, 16, 6, 6}, 7)}});
  for (const Step& step : plan->steps) {
    if (step.node != nullptr && step.node->provenance.contains(node))
      return step.kernel ? step.kernel->name : "none";
  }
  return "no step";
}

TEST(Builder, OtherSizesRunWithTheChoicesOfTheNearest) {
  Compiler compiler(small_model(), untuned());
  const PlanChoices by_reference{Layout::kChannelsLast, {{"conv", kReferenceTactic}}};
  compiler.prepare(batch(2), by_reference);
  const auto small = compiler.engine();
  EXPECT_EQ(kernel_of(small, 2, "node_conv"), "none");
  EXPECT_EQ(kernel_of(small, 3, "node_conv"), "none");
  const PlanChoices own;
  compiler.prepare(batch(40), own);
  const auto engine = compiler.engine();
  EXPECT_EQ(kernel_of(engine, 4, "node_conv"), "none");
  EXPECT_NE(kernel_of(engine, 30, "node_conv"), "none");
}

TEST(Builder, ATacticThatRefusesOtherSizesGivesWayToTheBackendsChoice) {
  Compiler compiler(small_model(), untuned());
  const auto plain = compile(small_model(), untuned());
  const PlanChoices unknown{Layout::kChannelsLast, {{"conv", "sideways"}}};
  compiler.prepare(batch(2), unknown);
  const auto engine = compiler.engine();
  for (const int64_t size : {2, 3})
    EXPECT_EQ(kernel_of(engine, size, "node_conv"), kernel_of(plain, size, "node_conv"));
  EXPECT_TRUE(engine->prepared()[0].plan->choices.tactics.empty());  // the file says what is
}

TEST(Builder, RunnersAreTunedForTheirFirstData) {
  const Model model = typed_model();
  const auto source = build_on_demand(model, {});
  EngineRunner runner(source);
  PlannedRunner planned(source);
  EXPECT_TRUE(runner.engine()->prepared().empty());
  const NamedData data{{"x", noise({2, 16, 6, 6}, 7)}};
  const Trace promised = planned.run(data, {}), trace = runner.run(data, {});
  EXPECT_EQ(input_text(*runner.engine()), "f32[2, 16, 6, 6]");
  EXPECT_FALSE(runner.engine()->tuning().results.empty());
  EXPECT_EQ(compare(promised, trace).verdict, Verdict::kPass);
}

TEST(Builder, ATacticThatIsForcedIsTakenWhereverItServes) {
  const Model model = typed_model();
  const auto offered = Builder(model, {}).build({}, Judge::kNever).engine->tuning().offered;
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
  const auto& offered = engine->tuning().offered;
  if (offered.empty()) GTEST_SKIP() << "this processor has one way only for this model";
  options.tune.forced = *offered.begin();
  for (const TuneResult& result : engine->tuning().results) {
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
