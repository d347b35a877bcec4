// Engines of approximate tactics: where they are too much for the builder's tolerances, engines with fewer of
// them, or with none.
#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/attention/block_attention.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/builder/builder.h"
#include "vernier/compile/tactic_selection.h"

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
  for (const auto& [tactic, record] : result.records) times[tactic] = tactic == cpu::kTwoTerms ? 1e-3 : 2e-3;
  return times;
}

class BuilderTest : public testing::Test {
 protected:
  void SetUp() override {
    VERNIER_NEEDS(kAmx);
    options_.tune.only = {cpu::kTwoTerms};
    options_.timing_cache = std::make_shared<TimingCache>(timing_device());
    // Whatever was timed: the approximate tactic shall be by far the fastest.
    const auto engine = tuned();
    ASSERT_FALSE(engine->tuning().results.empty());
    for (const TuneResult& result : engine->tuning().results) {
      ASSERT_TRUE(result.records.contains(cpu::kTwoTerms));
      options_.timing_cache->put(result.request, as_if_timed(result));
    }
    EXPECT_EQ(approximate_nodes(*tuned()), 3U);
  }

  std::shared_ptr<const Engine> tuned() const {
    return Builder(model_, options_).build({}, Judge::kNever).engine;
  }

  static std::vector<std::string> approximate_kernels(const Engine& engine) {
    std::vector<std::string> nodes;
    for (const Step& step : engine.prepared().at(0).plan->steps) {
      if (step.kernel && step.kernel->name.find(cpu::kTwoTerms) != std::string::npos)
        nodes.insert(nodes.end(), step.node->provenance.begin(), step.node->provenance.end());
    }
    return nodes;
  }

  Model model_ = cancelling_model();
  BuildOptions options_;
};

TEST_F(BuilderTest, GivesUpWhereItMust) {
  const BuiltEngine made = Builder(model_, options_).build();
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
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
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::IsEmpty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0], "with tactics that approximate in 2 nodes the verdict was fail: given up in all");
}

TEST_F(BuilderTest, KeepsAllWhereTheyPass) {
  model_.graph->outputs.erase(model_.graph->outputs.begin());  // y
  const BuiltEngine made = Builder(model_, options_).build();
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_THAT(approximate_kernels(*made.engine), testing::ElementsAre("node_z"));
  EXPECT_THAT(made.notes, testing::IsEmpty());
}

TEST_F(BuilderTest, AVerdictThatFailsWhateverIsChosenFails) {
  ProofOptions how;
  how.compare.tolerances.atol.general = how.compare.tolerances.rtol.general = 0;
  how.compare.noise_factor = 0;
  const BuiltEngine made = Builder(model_, options_).build({}, Judge::kAlways, how);
  EXPECT_EQ(made.certificate->verdict, Verdict::kFail);
  EXPECT_FALSE(std::isnan(made.certificate->outputs.at(0).ideal));
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
  // The kept tactics are in the file.
  EXPECT_THAT(approximate_kernels(*load_engine(folder.path() / "one.engine").engine),
              testing::ElementsAre("node_z"));
}

TEST_F(BuilderTest, PlansOfSizesWithoutSamplesKeepWhatOthersKeep) {
  model_.graph->inputs[0]->type = ValueType::of(ElementType::kFloat, Shape{Dim::symbol("N"), Dim(kTerms)});
  options_.profiles = {{{{"x", {{32, 64, 64}, {kTerms, kTerms, kTerms}}}}}};
  const auto engine = tuned();
  for (const TuneResult& result : engine->tuning().results)
    options_.timing_cache->put(result.request, as_if_timed(result));
  const BuiltEngine made = Builder(model_, options_).build();
  ASSERT_EQ(made.engine->prepared().size(), 2U);
  for (const auto& prepared : made.engine->prepared())
    EXPECT_EQ(prepared.plan->choices.tactics, (std::map<std::string, std::string>{{"z", cpu::kTwoTerms}}));
}

// Values of 50 of both signs cancel in some elements: what probabilities lose by rounding is all that is
// there.
Tensor cancelling_values(Dims dims) {
  std::vector<double> values = noise(dims, 3).to_doubles();
  for (double& value : values) value = value < 0 ? value - 50 : value + 50;
  return Tensor::from_doubles(ElementType::kBFloat16, std::move(dims), values);
}

TEST(Builder, GivesUpRoundedProbabilitiesWhereValuesCancel) {
  VERNIER_NEEDS(kBf16);
  Model model = parse_graph(
      R"(graph "g" (%q: bf16[1, 2, 16, 32], %k: bf16[1, 2, 8, 32], %v: bf16[1, 2, 8, 32]) -> (%y) {
    %y: bf16[*] = Attention(%q, %k, %v) version 23 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  const Dims keys = {1, 2, 8, 32};
  const auto given = [](const Dims& dims, unsigned seed) {
    return Tensor::from_doubles(ElementType::kBFloat16, dims, noise(dims, seed).to_doubles());
  };
  Sample sample;
  sample.origin = "given";
  sample.inputs = {{"q", given({1, 2, 16, 32}, 1)}, {"k", given(keys, 2)}, {"v", cancelling_values(keys)}};
  BuildOptions options;
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  // Whatever was timed: the approximate tactic shall be the fastest.
  const BuiltEngine timed = Builder(model, options).build({}, Judge::kNever);
  ASSERT_EQ(timed.engine->tuning().results.size(), 1U);
  for (const TuneResult& result : timed.engine->tuning().results) {
    TimingCache::Times times;
    for (const auto& [tactic, record] : result.records)
      times[tactic] = tactic == cpu::kBFloat16Probabilities ? 1e-3 : 2e-3;
    ASSERT_TRUE(times.contains(cpu::kBFloat16Probabilities));
    options.timing_cache->put(result.request, times);
  }
  const auto kernel_of = [](const BuiltEngine& built) {
    return built.engine->prepared().at(0).plan->steps.at(0).kernel->name;
  };
  EXPECT_EQ(kernel_of(Builder(model, options).build({}, Judge::kNever)), "cpu:attention:bf16-probabilities");
  const BuiltEngine made = Builder(model, options).build({sample});
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_EQ(kernel_of(made), "cpu:attention");
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0], "with tactics that approximate in 1 nodes the verdict was fail: given up in all");
}

}  // namespace
}  // namespace vernier
