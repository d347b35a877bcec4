// Engines that change when they are looked into, or show little: the fault is still found where it is made.
#include "vernier/diagnose/experiments/inner_look.h"

#include <gmock/gmock.h>

#include "odd_engine.h"
#include "vernier/diagnose/causes/root_causes.h"

namespace vernier {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

struct Found {
  InnerLook look;
  std::vector<RootCause> root_causes;
};

Found find(const OddEngine& engine, size_t most_bytes = 1 << 30) {
  Stopwatch watch(60);
  InnerLookJob job{engine.tested.get(), &engine.model, &engine.inputs,
                   engine.inputs,       &engine.plain, &engine.right};
  job.fails = !engine.plain.at("y").tensor.identical(engine.right.at("y").tensor);
  job.most_bytes = most_bytes;
  Found found{look_inside(job, watch), {}};
  const InnerLook& look = found.look;
  found.root_causes =
      root_causes_of(look.check, {look.shown, engine.inputs, nullptr, nullptr, &look.changing}, 8, watch);
  return found;
}

void expect_lost_factor(const Found& found, const std::string& node) {
  ASSERT_THAT(found.root_causes, SizeIs(1));
  EXPECT_EQ(found.root_causes[0].failure.code(), "B31") << found.root_causes[0].sentence;
  EXPECT_EQ(found.root_causes[0].nodes.at(0), node);
}

TEST(InnerLook, FindsNothingInASoundEngine) {
  for (const bool refuses : {false, true}) {
    OddOptions options;
    options.refuses_taps = refuses;
    EXPECT_THAT(find(OddEngine(options)).root_causes, IsEmpty());
  }
}

TEST(InnerLook, NamesTheNodesOfAFusionThatComesApart) {
  const OddEngine engine({.plant = without_factor("k3"), .heals = {"n2", "n3"}});
  const Found found = find(engine);
  expect_lost_factor(found, "k3");
  EXPECT_THAT(found.root_causes[0].nodes, IsSupersetOf({"k2", "k3", "k4"}));
  EXPECT_THAT(found.look.changing, SizeIs(2));
  for (const ChangingValue& each : found.look.changing) EXPECT_TRUE(each.heals()) << each.value;
  size_t proofs = 0;
  for (const Evidence& each : found.root_causes[0].evidence)
    proofs += each.experiment == "fusion taken apart";
  EXPECT_EQ(proofs, 2U);
}

TEST(InnerLook, SeesAFusionByCopiesOfTheModel) {
  const OddEngine engine({.plant = without_factor("k3"), .heals = {"n2", "n3"}, .refuses_taps = true});
  expect_lost_factor(find(engine), "k3");
}

TEST(InnerLook, NamesFusionWhereNoCauseExplainsIt) {
  const auto plant = [](Model& model) {
    if (Node* node = find_node(model, "k3")) node->op = "Max";
    if (Node* node = find_node(model, "k4")) node->op = "LogSoftmax";
  };
  const OddEngine engine({.plant = plant, .heals = {"n2", "n3"}});
  const Found found = find(engine);
  ASSERT_THAT(found.root_causes, SizeIs(1));
  EXPECT_EQ(found.root_causes[0].failure.code(), "B31");
  EXPECT_THAT(found.root_causes[0].nodes, ElementsAre("k2", "k3", "k4")) << found.root_causes[0].sentence;
}

// Roots of negative numbers make every row NaN, which many causes do.
TEST(InnerLook, IsNotSureWhereAllIsNaN) {
  const auto plant = [](Model& model) {
    if (Node* node = find_node(model, "k3")) node->op = "Pow";
    if (Node* node = find_node(model, "k4")) node->op = "LogSoftmax";
  };
  const Found found = find(OddEngine({.plant = plant, .heals = {"n2", "n3"}}));
  ASSERT_THAT(found.root_causes, SizeIs(1));
  EXPECT_THAT(found.root_causes[0].nodes, testing::UnorderedElementsAre("k2", "k3", "k4"));
  EXPECT_LE(found.root_causes[0].confidence, 0.5) << found.root_causes[0].sentence;
}

// The distance of an answer of other sizes is infinite, and a part of that is no measure of what may change.
TEST(InnerLook, DoesNotTakeARightAnswerForOneOfOtherSizes) {
  const auto plant = [](Model& model) {
    Node* node = find_node(model, "k8");
    if (node == nullptr) return;
    node->op = "Concat";
    node->inputs[1] = node->inputs[0];
    node->attributes["axis"] = int64_t{0};
  };
  const OddEngine engine({.plant = plant, .heals = {"n7", "n8"}});
  ASSERT_NE(engine.plain.at("y").tensor.dims(), engine.right.at("y").tensor.dims());
  const Found found = find(engine);
  ASSERT_THAT(found.root_causes, SizeIs(1));
  EXPECT_THAT(found.root_causes[0].nodes, Contains("k8"));
}

// A lost constant of the node before explains as much on these data, where the other factor is zero or the
// sign one.
TEST(InnerLook, NamesTheNodeThatAllWhichComesApartGoesThrough) {
  const std::string model = R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4, 8]) -> (%y) {
    const %half = f32[1] hex"0000003f"
    const %one = f32[1] hex"0000803f"
    %n0: f32[*] = Relu(%x) version 17 @"k0" from ["k0"]
    %n1: f32[*] = Sign(%x) version 17 @"k1" from ["k1"]
    %n2: f32[*] = Sub(%n1, %half) version 17 @"k2" from ["k2"]
    %n3: f32[*] = Mul(%n0, %n2) version 17 @"k3" from ["k3"]
    %y: f32[*] = Add(%n3, %one) version 17 @"k4" from ["k4"]
  } })";
  const auto plant = [](Model& engine) {
    Node* product = find_node(engine, "k3");
    const Node* sum = find_node(engine, "k4");
    if (product != nullptr && sum != nullptr) product->inputs[1] = sum->inputs[1];
  };
  const OddEngine engine({.plant = plant, .heals = {"n0", "n2", "n3"}}, true, model);
  expect_lost_factor(find(engine), "k3");
}

// Four rows say too little of 64 weights.
TEST(InnerLook, RunsOnOtherInputsUntilWeightsAreKnown) {
  const auto plant = [](Model& model) {
    Node* node = find_node(model, "k2");
    if (node == nullptr) return;
    Value* weights = node->inputs[1];
    weights->constant = OddEngine::noise({8, 8}, 77);
  };
  const OddEngine engine({.plant = plant});
  Stopwatch watch(60);
  FurtherRuns further(*engine.tested, {engine.inputs}, 1, watch);
  const InnerLook look = look_inside(
      {engine.tested.get(), &engine.model, &engine.inputs, engine.inputs, &engine.plain, &engine.right},
      watch);
  FlaggedRuns runs{look.shown, engine.inputs};
  EXPECT_FALSE(root_causes_of(look.check, runs, 8, watch).at(0).failure.is_explained());
  runs.further = &further;
  const auto root_causes = root_causes_of(look.check, runs, 8, watch);
  EXPECT_EQ(root_causes.at(0).failure.code(), "B47") << root_causes.at(0).sentence;
  EXPECT_THAT(root_causes.at(0).nodes, ElementsAre("k2"));
}

TEST(InnerLook, KeepsTwoFaultsApart) {
  const auto plant = [](Model& model) {
    without_factor("k3")(model);
    without_factor("k8")(model);
  };
  const Found found = find(OddEngine({.plant = plant, .heals = {"n2", "n3"}}));
  ASSERT_THAT(found.root_causes, SizeIs(2));
  std::set<std::string> nodes;
  for (const RootCause& root_cause : found.root_causes) nodes.insert(root_cause.nodes.at(0));
  EXPECT_EQ(nodes, (std::set<std::string>{"k3", "k8"}));
  EXPECT_GE(found.root_causes[0].share, found.root_causes[1].share);
}

TEST(InnerLook, SimulatesCausesAtNodesThatAreNotShown) {
  // Nothing more than what is tapped can be seen.
  OddOptions options{.plant = without_factor("k3"), .taps_shown = {"n1", "n5"}};
  expect_lost_factor(find(OddEngine(options, false)), "k3");
  options.taps_shown.clear();
  options.refuses_taps = true;
  expect_lost_factor(find(OddEngine(options, false)), "k3");
}

TEST(InnerLook, CutsTheModelOffWhereNoOutputsCanBeAdded) {
  const OddEngine engine({.plant = without_factor("k3"), .refuses_taps = true, .most_outputs = 1});
  const Found found = find(engine);
  expect_lost_factor(found, "k3");
  EXPECT_THAT(found.root_causes[0].values, ElementsAre("n3"));
}

// Forty nodes with a connection around the middle ones, of which one adds what is lost in a fused kernel.
TEST(InnerLook, HalvesLongModelsByTheirBorders) {
  std::string text = "model ir=8 opset \"\" 17 { graph \"g\" (%x: f32[4, 8]) -> (%y) {\n";
  std::string last = "x";
  const auto node = [&](int i, const std::string& op, const std::string& operands,
                        const std::string& result) {
    text +=
        fmt::format("%{}: f32[*] = {}({}) version 17 @\"k{}\" from [\"k{}\"]\n", result, op, operands, i, i);
    last = result;
  };
  for (int i = 0; i < 40; ++i) {
    const std::string result = i == 39 ? "y" : fmt::format("n{}", i);
    if (i == 21 || i == 33)
      node(i, "Add", fmt::format("%{}, %n{}", last, i == 21 ? 3 : 30), result);
    else
      node(i, i % 2 == 0 ? "Tanh" : "Sin", "%" + last, result);
  }
  OddOptions options{.heals = {"n20", "n21"}};
  options.plant = [](Model& model) {
    if (Node* add = find_node(model, "k21")) {
      add->op = "Identity";
      add->inputs.resize(1);
    }
  };
  for (const bool refuses : {false, true}) {
    options.refuses_taps = refuses;
    *options.runs = 0;
    OddEngine engine(options, true, text + "} }");
    const Found found = find(engine);
    expect_lost_factor(found, "k21");
    EXPECT_THAT(found.root_causes[0].nodes, IsSupersetOf({"k20", "k21", "k22"}));
    EXPECT_LE(found.root_causes[0].nodes.size(), 4U);
    EXPECT_LE(*options.runs, 30);
  }
}

TEST(InnerLook, DoesNotBlameAnEngineThatIsRightUnlessItIsWatched) {
  // Planted where something is shown, and only there.
  class Shy : public OddRunner {
   public:
    using OddRunner::OddRunner;
    Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
      Trace trace = OddRunner::run(inputs, taps);
      if (taps.empty()) return trace;
      for (TraceEntry& entry : trace.entries)
        entry.datum =
            Tensor::from_doubles(ElementType::kFloat, entry.datum.tensor.dims(),
                                 std::vector<double>(static_cast<size_t>(entry.datum.tensor.size()), 7));
      return trace;
    }
  };
  OddEngine engine({});
  Shy runner({"", &engine.model}, {});
  engine.tested = std::make_unique<RunnerUnderTest>(runner, engine.model, MakeRunner());
  const Found found = find(engine);
  EXPECT_THAT(found.root_causes, IsEmpty());
  EXPECT_THAT(found.look.notes, Contains(::testing::HasSubstr("they tell nothing")));
}

// An optimiser may have put others in the place of what follows from constants alone.
TEST(InnerLook, SeesWhatInputsChangeWhereConstantsAreRefused) {
  struct Folding : OddRunner {
    using OddRunner::OddRunner;
    Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
      if (std::find(taps.begin(), taps.end(), "c1") != taps.end()) throw unsupported("c1 is not there");
      return OddRunner::run(inputs, taps);
    }
  };
  const Model model = OddEngine::parsed(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4, 8]) -> (%y) {
    const %half = f32[1] hex"0000003f"
    %c0: f32[*] = Neg(%half) version 17 @"k0" from ["k0"]
    %c1: f32[*] = Abs(%c0) version 17 @"k1" from ["k1"]
    %n0: f32[*] = Mul(%x, %c1) version 17 @"k2" from ["k2"]
    %y: f32[*] = Relu(%n0) version 17 @"k3" from ["k3"]
  } })");
  Folding runner({"", &model}, {});
  RunnerUnderTest tested(runner, model, MakeRunner());
  const ShownRun shown = tested.show({{"x", OddEngine::noise({4, 8}, 1)}});
  EXPECT_TRUE(shown.values.contains("n0"));
  EXPECT_FALSE(shown.values.contains("c0"));
  EXPECT_THAT(shown.notes, Contains(::testing::HasSubstr("refuses to show inner values")));
}

// A run of a large model takes long: what it has shown is kept in a file.
TEST(InnerLook, RunsTheEngineOnceForABatch) {
  const Model model = OddEngine::parsed(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[256, 256]) -> (%y) {
    %n0: f32[*] = Relu(%x) version 17 @"k0" from ["k0"]
    %n1: f32[*] = Tanh(%n0) version 17 @"k1" from ["k1"]
    %n2: f32[*] = Neg(%n1) version 17 @"k2" from ["k2"]
    %y: f32[*] = Relu(%n2) version 17 @"k3" from ["k3"]
  } })");
  const OddOptions odd;
  OddRunner runner({"", &model}, odd);
  RunnerUnderTest tested(runner, model, MakeRunner());
  const NamedData inputs{{"x", OddEngine::noise({256, 256}, 1)}};
  ShowOptions options;
  options.most_bytes = 300000;  // a value has 262144
  const ShownRun shown = tested.show(inputs, options);
  ASSERT_THAT(shown.batches, SizeIs(3));
  for (size_t batch = 0; batch < 3; ++batch)
    EXPECT_TRUE(shown.fetch(batch).contains(fmt::format("n{}", batch)));
  EXPECT_EQ(*odd.runs, 3);
  options.in_batches = false;
  EXPECT_EQ(tested.show(inputs, options).graph, nullptr);
  EXPECT_EQ(*odd.runs, 3);
}

TEST(InnerLook, LooksAtBatchesOfValues) {
  OddOptions options{.plant = without_factor("k3")};
  const OddEngine engine(options);
  const Found found = find(engine, 300);  // two values of 128 bytes
  expect_lost_factor(found, "k3");
  EXPECT_THAT(found.look.shown.batches, SizeIs(5));
  EXPECT_THAT(found.look.shown.values, SizeIs(1));  // the output
  EXPECT_EQ(found.look.check.nodes, 10U);
}

}  // namespace
}  // namespace vernier
