// Engines that give other answers at another time, after another start, or at another place in the batch.
#include <gmock/gmock.h>

#include <thread>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/repeats/runtime_faults.h"

namespace vernier {
namespace {

const char* kModel = R"(graph "g" (%x: f32[N, 6]) -> (%y) {
 %a: f32[*] = Tanh(%x) version 13 @"a" from ["a"]
 %b: f32[*] = Sigmoid(%a) version 13 @"b" from ["b"]
 %y: f32[*] = Neg(%b) version 13 @"c" from ["c"]
})";

// Says what node "b" makes of its first operand instead.
using Misread = std::function<void(const Tensor& x, std::vector<double>& values)>;

// Changes the result of node "b": by the start of the engine, by how many runs that engine has had, and by
// what the node made then.
using Fault =
    std::function<void(size_t start, size_t run, std::vector<double>& values, std::vector<double>& kept)>;

class FakeEngine : public EngineUnderTest {
 public:
  FakeEngine(const Model& model, Fault fault, std::shared_ptr<size_t> starts = std::make_shared<size_t>(0))
      : model_(model), fault_(std::move(fault)), starts_(std::move(starts)), start_((*starts_)++) {}

  const std::string& name() const override { return name_; }
  NamedData run(const NamedData& inputs) override {
    ShownRun shown = show(inputs);
    return {{"y", shown.values.at("y")}};
  }
  ShownRun show(const NamedData& inputs, const ShowOptions& = {}) override {
    ShownRun shown;
    shown.graph = std::shared_ptr<const Graph>(std::shared_ptr<const Graph>(), model_.graph.get());
    InterpreterOptions options;
    options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                         std::vector<Datum>& results) {
      if (node.name == "b") {
        auto values = results[0].tensor.to_doubles();
        if (misread) misread(operands[0]->tensor, values);
        fault_(start_, runs_, values, kept_);
        results[0] = floats(results[0].tensor.dims(), values);
      }
      shown.values[node.outputs[0]->name] = results[0];
    };
    run_reference(model_, inputs, options);
    ++runs_;
    return shown;
  }
  std::unique_ptr<EngineUnderTest> fresh() override {
    return std::make_unique<FakeEngine>(model_, fault_, starts_);
  }
  NumericsContract assumed_contract(const Node&) const override {
    return {.computed = ElementType::kFloat, .stored = ElementType::kFloat, .approximate = true};
  }

  Misread misread;

 private:
  const Model& model_;
  Fault fault_;
  std::shared_ptr<size_t> starts_;
  size_t start_, runs_ = 0;
  std::vector<double> kept_;
  std::string name_ = "fake";
};

std::vector<RootCause> diagnosed(const Model& model, FakeEngine& engine,
                                 std::vector<RootCause> root_causes = {}) {
  const NamedData inputs{{"x", floats({1, 6}, {0.1, -0.5, 0.7, 1.2, -2, 0.3})}};
  const NamedData other = reordered(inputs);
  const NamedData outputs = engine.run(inputs);
  engine.run(other);  // the next sample, when outputs were compared
  const Repeatability repeatability = check_repeatability(engine, inputs, other, outputs);
  const SameInputCheck check = check_on_own_inputs(engine, engine.show(inputs), inputs);
  Stopwatch watch(60);
  find_runtime_faults({model, engine, inputs, other, outputs, repeatability, check}, root_causes, watch);
  return root_causes;
}

std::vector<RootCause> diagnosed(const Fault& fault, const char* graph = kModel) {
  const Model model = parse_planted(graph, 18);
  FakeEngine engine(model, fault);
  return diagnosed(model, engine);
}

void expect_root_cause(const Fault& fault, const std::string& failure) {
  const auto root_causes = diagnosed(fault);
  ASSERT_FALSE(root_causes.empty());
  EXPECT_EQ(root_causes[0].failure.code(), failure) << root_causes[0].sentence;
  EXPECT_EQ(root_causes[0].nodes, std::vector<std::string>{"b"}) << root_causes[0].sentence;
}

TEST(Runtime, ASoundEngineIsNotBlamed) {
  EXPECT_TRUE(diagnosed([](size_t, size_t, auto&, auto&) {}).empty());
}

TEST(Runtime, OneThatIsAlwaysWrongIsBlamedByOthers) {
  EXPECT_TRUE(diagnosed([](size_t, size_t, auto& values, auto&) {
                for (size_t i = 1; i < values.size(); i += 6) values[i] = 7;
              }).empty());
}

TEST(Runtime, AnExperimentThatTheTimeEndsHasNotFailed) {
  const Stopwatch watch(60);
  std::vector<std::string> notes;
  const auto fails = [] { throw unsupported("no answer"); };
  attempt("the engine", watch, notes, fails);
  const RunLimit limit(0);
  attempt("the engine", watch, notes, [] { RunLimit::check(); });
  EXPECT_THAT(notes, testing::ElementsAre("the engine could not be looked into: no answer",
                                          "the time was over while the engine was looked into"));
}

// Repeating it would take the time that finding its fault takes.
TEST(Runtime, ASlowEngineRunsOnceMore) {
  const Model model = parse_planted(kModel, 18);
  const NamedData inputs{{"x", floats({1, 6}, {0.1, -0.5, 0.7, 1.2, -2, 0.3})}};
  for (const bool changes : {false, true}) {
    size_t runs = 0;
    FakeEngine engine(model, [&](size_t, size_t run, auto& values, auto&) {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      if (changes) values[2] = static_cast<double>(run);
    });
    const NamedData outputs = engine.run(inputs);
    const Repeatability found = check_repeatability(engine, inputs, reordered(inputs), outputs, 0.01);
    EXPECT_EQ(runs, 2U);
    EXPECT_EQ(found.runs, 2U);
    EXPECT_EQ(found.is_repeatable(), !changes);
  }
}

TEST(Runtime, OnlyTheFirstRunDiffers) {
  expect_root_cause([](size_t, size_t run, auto& values, auto&) { values[2] = run == 0 ? 9 : values[2]; },
                    "B46");
}

TEST(Runtime, APartOfABufferIsThatOfTheRunBefore) {
  const auto late = [](size_t from) {
    return [from](size_t, size_t, auto& values, auto& kept) {
      const auto fresh = values;
      for (size_t i = from; i < values.size(); ++i) values[i] = i < kept.size() ? kept[i] : 0;
      kept = fresh;
    };
  };
  expect_root_cause(late(3), "B44");
  expect_root_cause(late(0), "B46");
}

TEST(Runtime, SumsAreNotCleared) {
  expect_root_cause(
      [](size_t, size_t, auto& values, auto& kept) {
        for (size_t i = 0; i < kept.size() && i < values.size(); ++i) values[i] += 0.5 * kept[i];
        kept = values;
      },
      "B46");
}

TEST(Runtime, ElementsAreNeverWritten) {
  std::mt19937_64 random(5);
  expect_root_cause(
      [&](size_t, size_t, auto& values, auto&) { values[4] = static_cast<double>(random() % 1000); }, "B46");
}

TEST(Runtime, SomeRunsAreTooEarly) {
  std::mt19937_64 random(5);
  expect_root_cause(
      [&](size_t, size_t, auto& values, auto&) {
        for (size_t i = random() % 6; i < values.size() && random() % 2 == 0; ++i) values[i] = 0;
      },
      "B44");
}

// The first run finds nothing, and one in four is too early.
TEST(Runtime, SomeRunsFindWhatTheOneBeforeLeft) {
  std::mt19937_64 random(5);
  expect_root_cause(
      [&](size_t, size_t run, auto& values, auto& kept) {
        const auto fresh = values;
        const bool early = run == 0 || random() % 4 == 0;
        for (size_t i = 2; early && i < values.size(); ++i) values[i] = i < kept.size() ? kept[i] : 0;
        kept = fresh;
      },
      "B44");
}

// The rows of an image before the last ones are new, and those are from before: every sum is of both.
TEST(Runtime, AnInputIsReadBeforeAllOfItIsWritten) {
  const char* sums = R"(graph "g" (%x: f32[1, 6]) -> (%y) {
 const %w = f32[6, 2] hex"0000803f0000004000000040000080400000404000004040000080bf000000c00000803f00000040000040400000803f"
 %b: f32[*] = MatMul(%x, %w) version 13 @"b" from ["b"]
 %y: f32[*] = Neg(%b) version 13 @"c" from ["c"]
})";
  const Model model = parse_planted(sums, 18);
  const std::vector<double> weights{1, 2, 2, 4, 3, 3, -1, -2, 1, 2, 3, 1};
  std::vector<double> kept;  // the input of the run before
  FakeEngine engine(model, [](size_t, size_t, auto&, auto&) {});
  engine.misread = [&](const Tensor& x, std::vector<double>& values) {
    auto read = x.to_doubles();
    const auto fresh = read;
    for (size_t i = 3; i < read.size(); ++i) read[i] = i < kept.size() ? kept[i] : 0;
    kept = fresh;
    for (size_t column = 0; column < 2; ++column) {
      values[column] = 0;
      for (size_t i = 0; i < 6; ++i) values[column] += read[i] * weights[2 * i + column];
    }
  };
  std::vector<RootCause> of_node(1);  // as its error alone may be told
  of_node[0].nodes = {"b"};
  of_node[0].failure = FailureClass(44);
  for (const auto& told : {std::vector<RootCause>(), of_node}) {
    const auto root_causes = diagnosed(model, engine, told);
    ASSERT_FALSE(root_causes.empty());
    EXPECT_EQ(root_causes[0].failure.code(), "B44") << root_causes[0].sentence;
    EXPECT_EQ(root_causes[0].values, std::vector<std::string>{"x"}) << root_causes[0].sentence;
  }
}

TEST(Runtime, SumsInAnotherOrderAreNoFault) {
  std::mt19937_64 random(5);
  EXPECT_TRUE(diagnosed([&](size_t, size_t, auto& values, auto&) {
                for (double& value : values) value *= 1 + 1e-7 * static_cast<double>(random() % 3);
              }).empty());
}

TEST(Runtime, EachStartTakesAnotherKernel) {
  expect_root_cause([](size_t start, size_t, auto& values, auto&) { values[3] *= start % 2 == 0 ? 0.5 : 1; },
                    "B42");
  expect_root_cause([](size_t start, size_t, auto& values, auto&) { values[3] *= start % 2 == 1 ? 0.5 : 1; },
                    "B42");
}

// A fault that is reproduced as a state is not taken for another kernel, although the engine is right after a
// start.
TEST(Runtime, AResultThatStaysIsNoOtherKernel) {
  const Model model = parse_planted(kModel, 18);
  FakeEngine engine(model,
                    [](size_t start, size_t, auto& values, auto&) { values[3] *= start == 0 ? 0.5 : 1; });
  std::vector<RootCause> told(1);
  told[0].nodes = {"b"};
  told[0].failure = FailureClass(46);
  EXPECT_EQ(diagnosed(model, engine, told).at(0).failure.code(), "B46");
}

TEST(Runtime, EqualRowsDiffer) {
  expect_root_cause(
      [](size_t, size_t, auto& values, auto&) {
        for (size_t i = 6; i < values.size(); ++i) values[i] += 0.1;
      },
      "B43");
}

// As for a Gather: they differ from row to row in a sound engine, too.
TEST(Runtime, NumbersOfRowsAreNoDifference) {
  const char* numbered = R"(graph "g" (%x: f32[N, 6]) -> (%y) {
 const %first = i64[] hex"0000000000000000"
 const %step = i64[] hex"0100000000000000"
 %sizes: i64[*] = Shape(%x) {end = 1} version 15 @"sizes" from ["sizes"]
 %rows: i64[*] = Squeeze(%sizes) version 13 @"rows" from ["rows"]
 %numbers: i64[*] = Range(%first, %rows, %step) version 11 @"numbers" from ["numbers"]
 %a: f32[*] = Gather(%x, %numbers) version 13 @"a" from ["a"]
 %b: f32[*] = Sigmoid(%a) version 13 @"b" from ["b"]
 %y: f32[*] = Neg(%b) version 13 @"c" from ["c"]
})";
  const auto root_causes = diagnosed(
      [](size_t, size_t, auto& values, auto&) {
        for (size_t i = 6; i < values.size(); ++i) values[i] += 0.1;
      },
      numbered);
  ASSERT_FALSE(root_causes.empty());
  EXPECT_EQ(root_causes[0].failure.code(), "B43") << root_causes[0].sentence;
  EXPECT_EQ(root_causes[0].nodes, std::vector<std::string>{"b"}) << root_causes[0].sentence;
}

TEST(CommonCauses, ACallIsNamedForTheNodesOfItsBody) {
  const Model model = parse_planted(kModel, 18);
  model.graph->nodes()[1]->name = "call/inner";
  std::vector<RootCause> root_causes(1);
  root_causes[0].nodes = {"call/inner"};
  root_causes[0].failure = FailureClass(31);
  name_custom_operators(*model.graph, {{"call", "custom::Gate"}}, root_causes);
  EXPECT_EQ(root_causes[0].nodes.front(), "call");
  EXPECT_EQ(root_causes[0].failure.code(), "B45");
  root_causes[0].nodes = {"a"};
  root_causes[0].failure = FailureClass(31);
  name_custom_operators(*model.graph, {{"call", "custom::Gate"}}, root_causes);
  EXPECT_EQ(root_causes[0].failure.code(), "B31");
}

}  // namespace
}  // namespace vernier
