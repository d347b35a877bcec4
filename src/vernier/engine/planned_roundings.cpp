#include "vernier/engine/planned_roundings.h"

#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool quantizes(const Node& group) {
  const auto& members = ops::body(group).nodes();
  return std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member->op.find("QuantizeLinear") != std::string::npos;
  });
}

// A group whose kernel keeps what lies between its nodes unrounded; of one that rounds there, the groups
// among its nodes. What quantizes inside a group rounds in any case: its members say how.
void add_unrounded(const Node& node, bool rounds_between, PlannedRoundings& roundings) {
  if (!ops::is_group(node)) return;
  for (const auto& member : ops::body(node).nodes()) add_unrounded(*member, false, roundings);
  if (!rounds_between && !quantizes(node)) roundings.unrounded.insert(&node);
}

void add_inner(const Node& node, const InnerRoundings& inner, PlannedRoundings& roundings) {
  roundings.inside[&node] = inner;
  if (!ops::is_group(node)) return;
  for (const auto& member : ops::body(node).nodes()) add_inner(*member, inner, roundings);
}

}  // namespace

PlannedRoundings planned_roundings(const Plan& plan) {
  PlannedRoundings roundings;
  for (const Step& step : plan.steps) {
    if (step.node == nullptr || !step.kernel) continue;
    const NumericsContract& contract = step.kernel->contract;
    add_unrounded(*step.node, contract.rounds_between, roundings);
    const InnerRoundings inner = contract.inner_roundings();
    if (inner != InnerRoundings()) add_inner(*step.node, inner, roundings);
  }
  return roundings;
}

}  // namespace vernier
