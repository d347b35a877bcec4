// Errors that the tolerance of a type accepts, and that no rounding makes.
#include "diagnose/diagnosed.h"
#include "diagnose/odd_engine.h"
#include "vernier/builder/builder.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/engine/engine_runner.h"

namespace vernier {
namespace {

Diagnosis diagnosis_of(const OddOptions& options) {
  const OddEngine engine(options);
  ReferenceRunner reference({{}, &engine.model});
  OneSample sample(engine.inputs);
  DiagnosisJob job;
  job.model = &engine.model;
  job.engine = {engine.runner.get(), engine.tested.get()};
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
  ASSERT_FALSE(found.root_causes.empty());
  EXPECT_EQ(found.root_causes[0].failure.code(), "B31");
  EXPECT_THAT(found.root_causes[0].nodes, ::testing::Contains("k3"));
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

constexpr const char* kNetwork = R"(graph "g" (%x: f32[4, 16], %w: f32[16, 16]) -> (%y) {
  %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
  %r: f32[*] = Tanh(%p) version 13 @"r" from ["r"]
  %y: f32[*] = MatMul(%r, %w) version 13 @"y" from ["y"] })";

const NamedData kInputs{{"x", wave({4, 16}, 0.7)}, {"w", wave({16, 16}, 1.3)}};

// Gives the bound of output 'y', for an engine that errs so much there.
std::optional<DerivedBound> exceeded(Runner& runner, const Model& model, double needs) {
  const auto bounds = exceeded_bounds(model, 1)(runner, kInputs, {{"y", needs}});
  const auto found = bounds.find("y");
  return found == bounds.end() ? std::nullopt : std::optional(found->second);
}

TEST(ExceededBounds, AreOfWhatIsFarBeyondThem) {
  const Model model = parse_graph(kNetwork);
  PlantedRunner runner(model, nullptr);
  const auto bound = exceeded(runner, model, 1e-3);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->roundings, "f32");
  EXPECT_LT(bound->relative_l2, 5e-5);
  EXPECT_TRUE(exceeded(runner, model, 10.5 * bound->relative_l2));
  // A little more than the bound is no reason to fail, nor is an error that one rounding may make.
  EXPECT_FALSE(exceeded(runner, model, 5 * bound->relative_l2));
  EXPECT_FALSE(exceeded(runner, model, 1e-7));
  EXPECT_FALSE(exceeded(runner, model, 0));
  EXPECT_EQ(runner.runs, 0) << "nothing of it is to be seen";
}

TEST(ExceededBounds, AreThoseThatTheTypesOfTheModelAreReasonFor) {
  std::string narrow = kNetwork;
  for (size_t at = narrow.find("f32"); at != std::string::npos; at = narrow.find("f32"))
    narrow.replace(at, 3, "f16");
  const Model model = parse_graph(narrow);
  PlantedRunner runner(model, nullptr);
  NamedData inputs;
  for (const auto& [name, datum] : kInputs)
    inputs[name] =
        Tensor::from_doubles(ElementType::kFloat16, datum.tensor.dims(), datum.tensor.to_doubles());
  EXPECT_TRUE(exceeded_bounds(model, 1)(runner, inputs, {{"y", 1e-3}}).empty());
  EXPECT_FALSE(exceeded_bounds(model, 1)(runner, inputs, {{"y", 0.5}}).empty());
}

TEST(ExceededBounds, AreThoseThatAnEngineOfOursPromises) {
  const Model model = parse_graph(kNetwork);
  BuildOptions options;
  EngineRunner wide(build_on_demand(model, options));
  options.precision.bf16 = true;
  EngineRunner narrow(build_on_demand(model, options));
  EXPECT_TRUE(exceeded(wide, model, 1e-3));
  EXPECT_FALSE(exceeded(narrow, model, 1e-3));
}

}  // namespace
}  // namespace vernier
