// An engine whose approximate tactics are too much for its tolerances is built with fewer, or with none.
#include "vernier/engine/verified_build.h"

#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/tiles/tile_block.h"
#include "vernier/backends/cpu/tiles/tile_contraction.h"
#include "vernier/engine/kept_tactics.h"

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

class VerifiedBuildTest : public testing::Test {
 protected:
  void SetUp() override {
    VERNIER_NEEDS(kAmx);
    options_.tune.only = {cpu::kTwoPieces};
    options_.timing_cache = std::make_shared<TimingCache>(timing_device());
    // Whatever was timed: the approximate tactic shall be by far the fastest.
    const auto engine = build_prepared(model_, options_);
    ASSERT_FALSE(engine->tuning().empty());
    for (const TuneResult& result : engine->tuning()) {
      auto records = result.records;
      ASSERT_TRUE(records.contains(cpu::kTwoPieces));
      for (auto& [tactic, record] : records) record.seconds = tactic == cpu::kTwoPieces ? 1e-3 : 2e-3;
      options_.timing_cache->put(result.request, records);
    }
    EXPECT_EQ(approximate_nodes(*build_prepared(model_, options_)), 3U);
  }

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

TEST_F(VerifiedBuildTest, GivesUpWhereItMust) {
  const VerifiedEngine made = build_verified(model_, options_);
  EXPECT_EQ(made.accuracy.verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::ElementsAre("node_z"));
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(
      made.notes[0],
      "with tactics that approximate in 3 nodes the verdict was fail: given up in 2 of them, 2.00 ms of "
      "a run as timed");
  EXPECT_GT(made.build_seconds, 0);
  EXPECT_GT(made.verdict_seconds, 0);
}

TEST_F(VerifiedBuildTest, GivesUpAllWhereNoneCanStay) {
  model_.graph->outputs.pop_back();  // z
  const VerifiedEngine made = build_verified(model_, options_);
  EXPECT_EQ(made.accuracy.verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::IsEmpty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0], "with tactics that approximate in 2 nodes the verdict was fail: given up in all");
}

TEST_F(VerifiedBuildTest, KeepsAllWhereTheyPass) {
  model_.graph->outputs.erase(model_.graph->outputs.begin());  // y
  const VerifiedEngine made = build_verified(model_, options_);
  EXPECT_EQ(made.accuracy.verdict(), Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::ElementsAre("node_z"));
  EXPECT_THAT(made.notes, testing::IsEmpty());
}

TEST_F(VerifiedBuildTest, AVerdictThatFailsWhateverIsChosenFails) {
  AccuracyOptions how;
  how.compare.tolerances.atol.general = how.compare.tolerances.rtol.general = 0;
  how.compare.noise_factor = 0;
  const VerifiedEngine made = build_verified(model_, options_, {}, how);
  EXPECT_EQ(made.accuracy.verdict(), Verdict::kFail);
  EXPECT_FALSE(made.accuracy.against_ideal.empty());
  EXPECT_THAT(approximate_kernels(*made.engine), testing::IsEmpty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_THAT(made.notes[0], testing::EndsWith("given up in all"));
}

TEST_F(VerifiedBuildTest, TheSameTimesGiveTheSameBytes) {
  const TemporaryFolder folder;
  std::vector<std::string> contents;
  for (const char* name : {"one.engine", "other.engine"}) {
    save_engine(*build_verified(model_, options_).engine, folder.path() / name, {});
    contents.push_back(content_of(folder.path() / name));
  }
  EXPECT_EQ(contents[0], contents[1]);
  // What was kept is in the file.
  EXPECT_THAT(approximate_kernels(*load_engine(folder.path() / "one.engine").engine),
              testing::ElementsAre("node_z"));
}

TEST_F(VerifiedBuildTest, PlansOfSizesWithoutSamplesKeepWhatOthersKeep) {
  model_.graph->inputs[0]->type = ValueType::of(ElementType::kFloat, Shape{Dim::symbol("N"), Dim(kTerms)});
  options_.profiles = {{{{"x", {{32, 64, 64}, {kTerms, kTerms, kTerms}}}}}};
  const auto engine = build_prepared(model_, options_);
  for (const TuneResult& result : engine->tuning()) {
    auto records = result.records;
    for (auto& [tactic, record] : records) record.seconds = tactic == cpu::kTwoPieces ? 1e-3 : 2e-3;
    options_.timing_cache->put(result.request, records);
  }
  const VerifiedEngine made = build_verified(model_, options_);
  ASSERT_EQ(made.engine->prepared().size(), 2U);
  for (const auto& prepared : made.engine->prepared())
    EXPECT_EQ(prepared.plan->choices.tactics, (std::map<std::string, std::string>{{"z", cpu::kTwoPieces}}));
}

}  // namespace
}  // namespace vernier
