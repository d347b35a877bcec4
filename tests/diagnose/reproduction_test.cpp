// The cause that reproduces an error is told from those that do not, and an error that none reproduces is
// called so.
#include "diagnose/diagnosed.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kBlock =
    R"(graph "g" (%x: f32[2, 3, 5, 5], %w: f32[4, 3, 3, 3], %b: f32[4], %low: f32[], %high: f32[]) -> (%y) {
    %a: f32[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11 @"conv" from ["conv"]
    %c: f32[*] = Clip(%a, %low, %high) version 13 @"clip" from ["clip"]
    %y: f32[*] = Sigmoid(%c) version 13 @"gate" from ["gate"]
  })";

Tensor scalar(double value) {
  return Tensor::from_doubles(ElementType::kFloat, {}, std::vector<double>{value});
}

NamedData inputs_of_block() {
  return {{"x", wave({2, 3, 5, 5}, 0.7)},
          {"w", wave({4, 3, 3, 3}, 1.3)},
          {"b", wave({4}, 2.1)},
          {"low", scalar(-0.5)},
          {"high", scalar(0.5)}};
}

Diagnosis diagnose_planted(const Plant& plant) {
  return diagnosed(kBlock, inputs_of_block(), plant);
}

// In place of what a node makes: what it makes of other operands.
Plant with(const std::string& node_name,
           const std::function<double(const Node&, const std::vector<double>&, size_t)>& change) {
  return [=](const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    if (node.name != node_name) return;
    auto values = operands[0]->tensor.to_doubles();
    std::vector<double> made(values.size());
    for (size_t i = 0; i < values.size(); ++i) made[i] = change(node, values, i);
    results[0] = Tensor::from_doubles(ElementType::kFloat, results[0].tensor.dims(), made);
  };
}

TEST(Diagnose, ASoundEngineIsHealthy) {
  const Diagnosis diagnosis = diagnose_planted(nullptr);
  EXPECT_TRUE(diagnosis.healthy);
  EXPECT_EQ(diagnosis.verdict, Verdict::kPass);
  EXPECT_THAT(diagnosis.root_causes, IsEmpty());
  ASSERT_EQ(diagnosis.split.size(), 1);
  EXPECT_LE(diagnosis.split[0].needs, diagnosis.split[0].bound);
  EXPECT_THAT(diagnosis.split[0].sentence, HasSubstr("within the rounding of f32"));
}

TEST(Diagnose, ALostBoundIsNamed) {
  const auto diagnosis = diagnose_planted(
      with("clip", [](const Node&, const std::vector<double>& x, size_t i) { return std::max(x[i], -0.5); }));
  EXPECT_FALSE(diagnosis.healthy);
  ASSERT_EQ(diagnosis.root_causes.size(), 1);
  const RootCause& root_cause = diagnosis.root_causes[0];
  EXPECT_THAT(root_cause.nodes, ElementsAre("clip"));
  EXPECT_EQ(root_cause.failure.code(), "B32");
  EXPECT_THAT(root_cause.sentence, HasSubstr("the upper bound is lost"));
  EXPECT_GT(root_cause.confidence, 0.8);
  EXPECT_DOUBLE_EQ(root_cause.share, 1);
}

TEST(Diagnose, WhatNoCauseReproducesIsUnexplained) {
  const auto diagnosis =
      diagnose_planted(with("gate", [](const Node&, const std::vector<double>& x, size_t i) {
        return 0.3 * std::cos(9 * x[i] + static_cast<double>(i));
      }));
  ASSERT_EQ(diagnosis.root_causes.size(), 1);
  EXPECT_THAT(diagnosis.root_causes[0].nodes, ElementsAre("gate"));
  EXPECT_EQ(diagnosis.root_causes[0].failure.code(), "unexplained");
  EXPECT_THAT(diagnosis.split[0].sentence, HasSubstr("not explainable by precision"));
}

TEST(Diagnose, TheLargerOfTwoErrorsComesFirst) {
  const Plant large =
      with("clip", [](const Node&, const std::vector<double>& x, size_t i) { return std::max(x[i], -0.5); });
  const Plant both = [large](const Node& node, std::span<const Datum* const> operands,
                             std::vector<Datum>& results) {
    large(node, operands, results);
    add_to_element("conv", 7, 0.01)(node, operands, results);
  };
  const auto diagnosis = diagnose_planted(both);
  ASSERT_EQ(diagnosis.root_causes.size(), 2);
  EXPECT_THAT(diagnosis.root_causes[0].nodes, ElementsAre("clip"));
  EXPECT_THAT(diagnosis.root_causes[1].nodes, ElementsAre("conv"));
  EXPECT_GT(diagnosis.root_causes[0].share, 0.9);
}

TEST(Diagnose, AnAnswerThatChangesIsNoMatterOfArithmetic) {
  int calls = 0;
  const Plant sometimes = [&calls](const Node& node, std::span<const Datum* const> operands,
                                   std::vector<Datum>& results) {
    if (node.name == "gate" && ++calls % 2 == 0) add_to_element("gate", 0, 1)(node, operands, results);
  };
  const auto diagnosis = diagnose_planted(sometimes);
  EXPECT_FALSE(diagnosis.healthy);
  EXPECT_EQ(diagnosis.verdict, Verdict::kFail);
}

// One cause leaves nothing of one run by chance, and is not met in the other.
TEST(Diagnose, AnotherRunDecidesBetweenCausesThatLeaveAsLittle) {
  const char* graph = R"(graph "g" (%x: f32[8], %w: f32[8]) -> (%y) {
    %y: f32[*] = Add(%x, %w) version 14 @"sum" from ["sum"] })";
  const PlantedGraph one(graph, {{"x", wave({8}, 0.7)}, {"w", wave({8}, 1.3)}}),
      other(graph, {{"x", wave({8}, 2.7)}, {"w", wave({8}, 3.3)}});
  const auto told = [&](const Tensor& made_in_other) {
    Reproduction result = one.diagnosed("sum", one.value("x"));
    Simulated chance = *result.cause;
    chance.failure = FailureClass(8);
    chance.what = "its sums meet the numbers by chance";
    result.others.insert(result.others.begin(), *result.cause);
    result.likely.insert(result.likely.begin(), chance);
    result.cause = chance;
    EXPECT_TRUE(is_ambiguous(result));
    decide_by(other.flagged("sum", made_in_other), other.context(), nullptr, result);
    return result.cause->failure.code();
  };
  EXPECT_EQ(told(other.value("x")), "B31");
  EXPECT_EQ(told(wave({8}, 5.1)), "B8");  // which none of them makes
}

// Rounding to bf16 makes a divisor of 1.002 one, too, but leaves a part of another element's error.
TEST(Diagnose, WhatExplainsEverythingComesBeforeWhatLeavesALittle) {
  const auto pair = [](double first, double second) {
    return Tensor::from_doubles(ElementType::kFloat, {2}, std::vector{first, second});
  };
  const auto plant = [&](const Node&, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    results[0] = operands[0]->tensor;
  };
  const auto found = diagnosed(R"(graph "g" (%x: f32[2], %s: f32[2]) -> (%y) {
    %y: f32[*] = Div(%x, %s) version 14 @"div" from ["div"] })",
                               {{"x", pair(1, 0.003455)}, {"s", pair(1.002, 1.002)}}, plant);
  EXPECT_EQ(first_of(found), "B31 at div");
}

// No tolerance refuses what it makes, and roundings do not explain it.
TEST(Diagnose, AReferenceThatLiesALittleIsFound) {
  const Model model = parse_graph(kBlock);
  PlantedRunner sound(model, nullptr), lying(model, add_to_element("gate", 7, 3e-4));
  RunnerUnderTest tested(sound, model, nullptr), other(lying, model, nullptr);
  OneSample sample(inputs_of_block());
  DiagnosisJob job;
  job.model = &model;
  job.engine = {&sound, &tested};
  job.against = &lying;
  job.against_engine = DiagnosedRunner{&lying, &other};
  EXPECT_EQ(first_of(diagnose(job, sample)), "B16 at gate");
  job.against = &sound;
  job.against_engine = DiagnosedRunner{&sound, &tested};
  OneSample again(inputs_of_block());
  EXPECT_EQ(first_of(diagnose(job, again)), "none");
}

}  // namespace
}  // namespace vernier
