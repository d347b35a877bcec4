// Models whose own types lose what they mean, with a sound engine: the reference itself; and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/precision_flags.h"
#include "vernier/diagnose/hazards/amplifiers.h"
#include "vernier/diagnose/hazards/kept_digits.h"
#include "vernier/diagnose/hazards/model_hazards.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

struct Typed {
  Model model;
  NamedData inputs;

  Typed(const std::string& graph, NamedData given)
      : model(parse_model("model ir=8 opset \"\" 17 {\n" + graph + "\n}")), inputs(std::move(given)) {
    ops::infer_types(*model.graph);
  }

  NamedData outputs(const InterpreterOptions& options = {}) const {
    auto made = run_reference(model, inputs, options).outputs;
    NamedData named;
    for (size_t i = 0; i < made.size(); ++i) named[model.graph->outputs[i]->name] = std::move(made[i]);
    return named;
  }
  ShownRun shown() const {
    ShownRun run;
    run.graph = std::shared_ptr<const Graph>(std::shared_ptr<const Graph>(), model.graph.get());
    return run;
  }
  // "B1 at square", or "none".
  std::string hazard() const {
    Stopwatch watch(60);
    const ShownRun run = shown();
    return text(model_hazards({model, run, inputs, outputs()}, watch));
  }
  static std::string text(const std::vector<RootCause>& root_causes) {
    return root_causes.empty() ? "none" : root_causes[0].failure.code() + " at " + root_causes[0].nodes.at(0);
  }
};

constexpr ElementType kHalf = ElementType::kFloat16;

const char* const kNorm = R"(graph "g" (%x: f16[8, 64]) -> (%y) {
  %s: f16[*] = Mul(%x, %x) version 13 @"square" from ["square"]
  %m: f16[*] = ReduceMean(%s) {axes = ints[1]} version 13 @"mean" from ["mean"]
  %r: f16[*] = Sqrt(%m) version 13 @"root" from ["root"]
  %y: f16[*] = Div(%x, %r) version 13 @"div" from ["div"] })";

TEST(Hazards, SquaresOfANormThatOverflow) {
  EXPECT_EQ(Typed(kNorm, {{"x", drawn({8, 64}, 1, 0, 200, kHalf)}}).hazard(), "B1 at square");
  EXPECT_EQ(Typed(kNorm, {{"x", drawn({8, 64}, 1, 0, 1, kHalf)}}).hazard(), "none");
}

// An engine that keeps more digits than declared is spared; that the model overflows is said, and the cure.
TEST(Hazards, AModelOverflowsWhateverAnEngineKeeps) {
  const auto hazards = [](double deviation) {
    const Typed norm(kNorm, {{"x", drawn({8, 64}, 1, 0, deviation, kHalf)}});
    const ShownRun run = norm.shown();
    const NamedData meant = norm.outputs({.mode = ReferenceMode::kIdeal});
    Stopwatch watch(60);
    return model_hazards({norm.model, run, norm.inputs, meant}, watch);
  };
  EXPECT_TRUE(hazards(1).empty());
  const auto found = hazards(200);
  ASSERT_EQ(Typed::text(found), "B1 at square");
  EXPECT_THAT(found[0].sentence,
              testing::HasSubstr("the model as declared is at fault at 'square': 's' reaches"));
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("float16 ends at 65504"));
  EXPECT_THAT(found[0].repair.sentence, testing::HasSubstr("--keep-fp32 'mean,square'"));
  const auto& evidence = found[0].evidence;
  const auto widened = std::find_if(evidence.begin(), evidence.end(),
                                    [](const Evidence& each) { return each.experiment == "widened model"; });
  ASSERT_NE(widened, evidence.end());
  EXPECT_LT(widened->figure, 2e-3);
}

// As wrong as the model by its own types is no excuse for an engine that is wrong in another way.
TEST(Hazards, BesideADamagedModelAFaultIsNoKeptDigit) {
  const Typed norm(kNorm, {{"x", drawn({8, 64}, 1, 0, 200, kHalf)}});
  const ShownRun run = norm.shown();
  const NamedData meant = norm.outputs({.mode = ReferenceMode::kIdeal});
  EXPECT_TRUE(rounds_less({norm.model, run, norm.inputs, meant}));
  auto values = meant.at("y").as_tensor().to_doubles();
  for (double& value : values) value *= 1.3;
  const NamedData faulty = {{"y", Tensor::from_doubles(kHalf, {8, 64}, values)}};
  EXPECT_FALSE(rounds_less({norm.model, run, norm.inputs, faulty}));
}

TEST(Hazards, ActivationsThatOverflow) {
  const char* graph = R"(graph "g" (%x: f16[8, 64]) -> (%y) {
    const %c = f16[] hex"005c"
    %a: f16[*] = Mul(%x, %c) version 13 @"grow" from ["grow"]
    %y: f16[*] = Tanh(%a) version 13 @"tanh" from ["tanh"] })";
  EXPECT_EQ(Typed(graph, {{"x", drawn({8, 64}, 1, 0, 1, kHalf)}}).hazard(), "none");
  const char* sum = R"(graph "g" (%x: f16[8, 64]) -> (%y) {
    const %c = f16[] hex"005c"
    %a: f16[*] = Mul(%x, %c) version 13 @"grow" from ["grow"]
    %y: f16[*] = Sub(%a, %a) version 13 @"less" from ["less"] })";
  EXPECT_EQ(Typed(sum, {{"x", drawn({8, 64}, 1, 0, 1000, kHalf)}}).hazard(), "B2 at grow");
}

TEST(Hazards, EpsilonThatACastLoses) {
  const char* graph = R"(graph "g" (%x: f16[2, 8]) -> (%y) {
    const %e = f32[] hex"ccbc8c2b"
    %h: f16[*] = Cast(%e) {to = 10} version 13 @"cast" from ["cast"]
    %s: f16[*] = Mul(%x, %x) version 13 @"square" from ["square"]
    %m: f16[*] = ReduceMean(%s) {axes = ints[1]} version 13 @"mean" from ["mean"]
    %a: f16[*] = Add(%m, %h) version 13 @"add" from ["add"]
    %y: f16[*] = Div(%x, %a) version 13 @"div" from ["div"] })";
  auto x = drawn({2, 8}, 1).to_doubles();
  std::fill(x.begin(), x.begin() + 8, 0);
  EXPECT_EQ(Typed(graph, {{"x", real_tensor({2, 8}, x, kHalf)}}).hazard(), "B5 at cast");
  EXPECT_EQ(Typed(graph, {{"x", drawn({2, 8}, 1, 0, 1, kHalf)}}).hazard(), "none");
}

TEST(Hazards, IdsInHalf) {
  const char* graph = R"(graph "g" (%i: i64[4], %t: f16[3000, 2]) -> (%y) {
    %f: f16[*] = Cast(%i) {to = 10} version 13 @"narrow" from ["narrow"]
    %k: i64[*] = Cast(%f) {to = 7} version 13 @"back" from ["back"]
    %y: f16[*] = Gather(%t, %k) version 13 @"gather" from ["gather"] })";
  const auto of_ids = [&](int64_t first) {
    const std::vector<int64_t> ids{first, first + 2, first + 4, first + 6};
    return Typed(graph, {{"i", Tensor::from_ints(ElementType::kInt64, {4}, ids)},
                         {"t", drawn({3000, 2}, 1, 0, 1, kHalf)}})
        .hazard();
  };
  EXPECT_EQ(of_ids(2049), "B10 at narrow");
  EXPECT_EQ(of_ids(49), "none");
}

TEST(Hazards, VarianceThatCancels) {
  const char* graph = R"(graph "g" (%x: f32[4, 64]) -> (%y) {
    %s: f32[*] = Mul(%x, %x) version 13 @"square" from ["square"]
    %m: f32[*] = ReduceMean(%s) {axes = ints[1]} version 13 @"squares" from ["squares"]
    %n: f32[*] = ReduceMean(%x) {axes = ints[1]} version 13 @"mean" from ["mean"]
    %q: f32[*] = Mul(%n, %n) version 13 @"of_mean" from ["of_mean"]
    %y: f32[*] = Sub(%m, %q) version 13 @"less" from ["less"] })";
  EXPECT_EQ(Typed(graph, {{"x", drawn({4, 64}, 1, 1000, 0.05)}}).hazard(), "B12 at less");
  EXPECT_EQ(Typed(graph, {{"x", drawn({4, 64}, 1, 1, 0.5)}}).hazard(), "none");
}

TEST(Hazards, AStepThatIsRepeated) {
  std::string text = "graph \"g\" (%x0: f32[4, 16], %w: f32[16, 16]) -> (%x30) {\n";
  for (int i = 0; i < 30; ++i)
    text += fmt::format(
        "%p{0}: f32[*] = MatMul(%x{0}, %w) version 13 @\"p{0}\" from [\"p{0}\"]\n"
        "%x{1}: f32[*] = Sin(%p{0}) version 7 @\"s{0}\" from [\"s{0}\"]\n",
        i, i + 1);
  const auto amplifier = [&](double gain) {
    Typed typed(text + "}", {{"x0", drawn({4, 16}, 1)}, {"w", drawn({16, 16}, 2, 0, gain)}});
    for (const auto& value : typed.model.graph->values()) {
      if (value->name == "w") value->constant = typed.inputs.at("w").tensor;
    }
    Stopwatch watch(60);
    const ShownRun run = typed.shown();
    const NamedData noisy = typed.outputs({.noise_seed = 7});
    return Typed::text(amplifiers({run, typed.inputs, noisy, 1}, watch)).substr(0, 4);
  };
  EXPECT_EQ(amplifier(1.5), "B18 ");
  EXPECT_EQ(amplifier(0.1), "none");
}

// The engine never rounds, or rounds as the model says.
std::string dropped(const Typed& typed, ReferenceMode mode) {
  Stopwatch watch(60);
  return Typed::text(dropped_casts(typed.model, typed.inputs, typed.outputs({.mode = mode}), watch));
}

TEST(Hazards, ACastThatIsNotExecuted) {
  const Typed steps(R"(graph "g" (%x: f32[8, 8]) -> (%y) {
    const %c = f16[] hex"d063"
    %r: f32[*] = Relu(%x) version 14 @"relu" from ["relu"]
    %h: f16[*] = Cast(%r) {to = 10} version 13 @"narrow" from ["narrow"]
    %a: f16[*] = Add(%h, %c) version 14 @"add" from ["add"]
    %w: f32[*] = Cast(%a) {to = 1} version 13 @"wide" from ["wide"]
    %y: f32[*] = Relu(%w) version 14 @"end" from ["end"] })",
                    {{"x", drawn({8, 8}, 1)}});
  EXPECT_EQ(dropped(steps, ReferenceMode::kIdeal), "B14 at add");
  EXPECT_EQ(dropped(steps, ReferenceMode::kDeclared), "none");
}

TEST(Hazards, DigitsThatAreKeptEverywhereAreNoFault) {
  std::string text =
      "graph \"g\" (%x: f32[8, 8]) -> (%y) {\n%x0: f16[*] = Cast(%x) {to = 10} version 13 @\"in\" from "
      "[\"in\"]\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("%x{}: f16[*] = Sin(%x{}) version 7 @\"s{}\" from [\"s{}\"]\n", i + 1, i, i, i);
  text += "%y: f32[*] = Cast(%x12) {to = 1} version 13 @\"out\" from [\"out\"] }";
  EXPECT_EQ(dropped(Typed(text, {{"x", drawn({8, 8}, 1)}}), ReferenceMode::kIdeal), "none");
}

TEST(Hazards, AnEngineMayKeepWhatItsTypesLose) {
  const char* graph = R"(graph "g" (%x: f32[8, 8]) -> (%y) {
    %h: f16[*] = Cast(%x) {to = 10} version 13 @"narrow" from ["narrow"]
    %s: f16[*] = Mul(%h, %h) version 14 @"square" from ["square"]
    %r: f16[*] = Sqrt(%s) version 13 @"root" from ["root"]
    %y: f32[*] = Cast(%r) {to = 1} version 13 @"wide" from ["wide"] })";
  const auto better = [&](double deviation, ReferenceMode mode) {
    const Typed typed(graph, {{"x", drawn({8, 8}, 1, 0, deviation)}});
    const ShownRun run = typed.shown();
    return rounds_less({typed.model, run, typed.inputs, typed.outputs({.mode = mode})});
  };
  EXPECT_TRUE(better(300, ReferenceMode::kIdeal));
  EXPECT_FALSE(better(300, ReferenceMode::kDeclared));
  EXPECT_FALSE(better(1, ReferenceMode::kIdeal));  // a Cast is to be executed
}

// An engine may compare in a kernel that shows only what is made of it: peaks that are kept where they are
// the largest of their neighbours, as detectors do.
TEST(Hazards, ADecisionInsideOfAGroupIsNoCancellation) {
  Typed peaks(R"(graph "g" (%x: f32[64], %m: f32[64]) -> (%y) {
    %e: bool[*] = Equal(%x, %m) version 13 @"equal" from ["equal"]
    %k: f32[*] = Cast(%e) {to = 1} version 13 @"kept" from ["kept"]
    %y: f32[*] = Mul(%x, %k) version 14 @"peaks" from ["peaks"] })",
              {{"x", drawn({64}, 1, 0.5, 0.1)}, {"m", drawn({64}, 1, 0.5, 0.1)}});
  std::vector<Node*> members;
  for (const auto& node : peaks.model.graph->nodes()) members.push_back(node.get());
  ops::make_group(*peaks.model.graph, members, "pointwise");
  ops::infer_types(*peaks.model.graph);
  ShownRun run = peaks.shown();
  NamedData outputs = peaks.outputs();
  for (size_t i = 0; i < 64; i += 4) outputs.at("y").tensor.mutable_values<float>()[i] = 0;
  run.values = outputs;
  Stopwatch watch(60);
  EXPECT_EQ(Typed::text(amplifiers({run, peaks.inputs, outputs, 1}, watch)), "B17 at equal");
}

// Values that stay beyond the range of their type through most of a model.
TEST(Hazards, AnOverflowThatGoesOnForManyNodes) {
  std::string graph =
      "graph \"g\" (%x: f16[8]) -> (%y) {\n const %k = f16[] hex\"0070\"\n"
      " %v0: f16[*] = Mul(%x, %k) version 14 @\"first\" from [\"first\"]\n";
  constexpr int kNodes = 40;
  for (int i = 1; i <= kNodes; ++i)
    graph += fmt::format(" %v{0}: f16[*] = Neg(%v{1}) version 13 @\"n{0}\" from [\"n{0}\"]\n", i, i - 1);
  graph += fmt::format(" %y: f16[*] = Div(%v{}, %k) version 14 @\"last\" from [\"last\"] }}", kNodes);
  EXPECT_EQ(Typed(graph, {{"x", drawn({8}, 1, 100, 1, kHalf)}}).hazard(), "B2 at first");
}

}  // namespace
}  // namespace vernier
