// An error under a condition is found at the node that makes it.
#include "vernier/diagnose/experiments/opened_regions.h"

#include "diagnose/diagnosed.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kBranches = R"(graph "g" (%x: f32[4, 8], %long: bool[]) -> (%y, %z) {
  const %half = f32[] hex"0000003f"
  %a: f32[*] = Add(%x, %half) version 17 @"add" from ["add"]
  %y: f32[*], %z: f32[*] = If(%long) version 17 @"outer" from ["outer"] regions {
    then_branch = graph "then" () -> (%t, %a) {
      const %low = f32[] hex"000000bf"
      const %high = f32[] hex"0000003f"
      %s: f32[*] = Sin(%a) version 17 @"sin" from ["sin"]
      %t: f32[*] = If(%long) version 17 @"inner" from ["inner"] regions {
        then_branch = graph "deep" () -> (%c) { %c: f32[*] = Clip(%s, %low, %high) version 17 @"clip" from ["clip"] }
        else_branch = graph "flat" () -> (%d) { %d: f32[*] = Neg(%s) version 17 @"neg" from ["neg"] }
      }
    }
    else_branch = graph "else" () -> (%e, %f) {
      %e: f32[*] = Relu(%a) version 17 @"relu" from ["relu"]
      %f: f32[*] = Neg(%a) version 17 @"other" from ["other"]
    }
  }
})";

NamedData inputs_where(bool is_long) {
  Tensor flag(ElementType::kBool, {});
  flag.mutable_values<bool>()[0] = is_long;
  return {{"x", wave({4, 8}, 0.7)}, {"long", flag}};
}

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> result;
  for (const auto& node : model.graph->nodes()) result.push_back(node->op);
  return result;
}

TEST(OpenedBranches, AreThoseThatAreTaken) {
  const Model model = parse_graph(kBranches);
  const auto taken = with_open_branches(model, inputs_where(true)),
             other = with_open_branches(model, inputs_where(false));
  ASSERT_TRUE(taken && other);
  EXPECT_THAT(operators(*taken), ElementsAre("Add", "Sin", "Clip", "Identity"));
  EXPECT_THAT(operators(*other), ElementsAre("Add", "Relu", "Neg"));
  EXPECT_EQ(taken->graph->nodes()[1]->output(0)->name, "s");  // named as in the model
  for (const bool is_long : {true, false}) {
    const auto right = run_reference(model, inputs_where(is_long)).outputs;
    const auto made = run_reference(is_long ? *taken : *other, inputs_where(is_long)).outputs;
    for (size_t i = 0; i < right.size(); ++i) EXPECT_TRUE(made[i].tensor.identical(right[i].tensor));
  }
  EXPECT_FALSE(with_open_branches(*taken, inputs_where(true)));
}

TEST(OpenedGroups, HaveTheirNodesInTheirPlace) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 8]) -> (%y, %z) {
    %a: f32[4, 8] = Sin(%x) version 17 @"sin" from ["sin"]
    %y: f32[4, 8] = Neg(%a) version 17 @"neg" from ["neg"]
    %z: f32[4, 8] = Relu(%y) version 17 @"relu" from ["relu"]
  })");
  const auto grouped = clone(*model.graph);
  const auto members = [&](std::initializer_list<size_t> places) {
    std::vector<Node*> nodes;
    for (const size_t place : places) nodes.push_back(grouped->nodes()[place].get());
    return nodes;
  };
  ops::make_group(*grouped, members({0, 1}), "inner");
  ops::make_group(*grouped, members({0, 1}), "outer");
  const auto opened = without_groups(*grouped);
  std::vector<std::string> names;
  for (const auto& node : opened->nodes()) names.push_back(node->op + " " + *node->provenance.begin());
  EXPECT_THAT(names, ElementsAre("Sin sin", "Neg neg", "Relu relu"));
  EXPECT_EQ(opened->nodes()[1]->output(0)->name, "y");
  const NamedData inputs{{"x", wave({4, 8}, 0.7)}};
  const auto right = run_reference(*model.graph, inputs).outputs,
             made = run_reference(*opened, inputs).outputs;
  for (size_t i = 0; i < right.size(); ++i) EXPECT_TRUE(made[i].tensor.identical(right[i].tensor));
}

Diagnosis diagnosis_of(const Plant& plant, const Plant& of_others) {
  const Model model = parse_graph(kBranches);
  PlantedRunner runner(model, plant);
  RunnerUnderTest tested(runner, model, [&](const RunnerModel& other, double) -> std::unique_ptr<Runner> {
    return std::make_unique<PlantedRunner>(*other.model, of_others);
  });
  ReferenceRunner reference({{}, &model});
  OneSample sample(inputs_where(true));
  DiagnosisJob job;
  job.model = &model;
  job.engine = {&runner, &tested};
  job.against = &reference;
  return diagnose(job, sample);
}

TEST(OpenedBranches, ShowTheNodeThatIsWrong) {
  const Plant unbounded = [](const Node& node, std::span<const Datum* const> operands,
                             std::vector<Datum>& results) {
    if (node.name == "clip") results[0] = *operands[0];
  };
  EXPECT_EQ(first_of(diagnosis_of(unbounded, unbounded)), "B32 at clip");
  // Nothing is said that was seen in the other model, if the engine makes something else of it.
  const Diagnosis unlike = diagnosis_of(unbounded, nullptr);
  EXPECT_THAT(first_of(unlike), HasSubstr("at outer"));
  // Nor of one whose answer has other sizes, from which all right ones are infinitely far away.
  const Plant resized = [](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.name == "outer") results[0] = results[0].tensor.reshaped({8, 4});
  };
  EXPECT_THAT(first_of(diagnosis_of(resized, nullptr)), HasSubstr("at outer"));
  EXPECT_EQ(first_of(diagnosis_of(nullptr, nullptr)), "none");
}

}  // namespace
}  // namespace vernier
