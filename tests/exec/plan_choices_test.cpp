// A plan's choices make the same plan again.
#include <gtest/gtest.h>

#include "vernier/exec/program.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

struct Named : Kernel {
  explicit Named(std::string_view tactic) { name = tactic.empty() ? "own" : tactic; }
  void run(const KernelArguments&) const override {}
};

// Nodes have a kernel of their own and a fast one; groups only the fast one.
class Kernels : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    reason = "there is no such kernel";
    if (request.tactic == "unknown" || (ops::is_group(request.node) && request.tactic.empty()))
      return nullptr;
    return std::make_unique<Named>(request.tactic);
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

// y = relu(neg(x)), as a group.
std::unique_ptr<Graph> grouped() {
  auto graph = std::make_unique<Graph>();
  const ValueType type = ValueType::of(ElementType::kFloat, to_shape(Dims{4}));
  Value* at = graph->add_input("x", type);
  std::vector<Node*> members;
  for (const char* op : {"Neg", "Relu"}) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->version = 14;
    node->name = op;
    node->provenance = {op};
    node->inputs = {at};
    node->outputs = {graph->add_value(members.empty() ? "n" : "y", type)};
    at = node->outputs[0];
    members.push_back(graph->add_node(std::move(node)));
  }
  graph->outputs = {at};
  ops::make_group(*graph, members, "pair");
  return graph;
}

std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) names.push_back(step.kernel ? step.kernel->name : "none");
  return names;
}

// The last node of a group makes the value that the group makes, by whose name a tactic is kept.
TEST(PlanChoices, ATacticOfANodeIsNotTakenForOneOfItsGroup) {
  const Kernels kernels;
  PackedConstants packed;
  const ChooseTactic members_fast = [](const KernelRequest& request, const Backend&) {
    return ops::is_group(request.node) ? "" : "fast";
  };
  const Plan first = make_plan(grouped(), kernels, {}, packed, {}, members_fast);
  EXPECT_EQ(kernels_of(first), (std::vector<std::string>{"fast", "fast"}));
  const Plan again = make_plan(grouped(), kernels, {}, packed, first.choices);
  EXPECT_EQ(kernels_of(again), kernels_of(first));
  EXPECT_EQ(again.choices, first.choices);
}

TEST(PlanChoices, AGroupThatIsOneKernelStaysOne) {
  const Kernels kernels;
  PackedConstants packed;
  const PlanChoices together{{}, {{"y", "fast"}}};
  EXPECT_EQ(kernels_of(make_plan(grouped(), kernels, {}, packed, together)),
            (std::vector<std::string>{"fast"}));
}

TEST(PlanChoices, ATacticThatIsRefusedIsNotKept) {
  const Kernels kernels;
  PackedConstants packed;
  const Plan plan = make_plan(grouped(), kernels, {}, packed, {{}, {{"n", "unknown"}, {"y", "unknown"}}});
  EXPECT_EQ(kernels_of(plan), (std::vector<std::string>{"own", "own"}));
  EXPECT_TRUE(plan.choices.tactics.empty());
}

}  // namespace
}  // namespace vernier
