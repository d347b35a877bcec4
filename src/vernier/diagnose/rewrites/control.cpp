#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/clone.h"

namespace vernier {

namespace {

// The nodes of a branch among those around it; what the branch gives out.
Value* opened(Replacement& node, const Graph& branch) {
  ValueMap values;
  for (const auto& value : branch.values())
    values[value.get()] =
        value->is_constant() ? node.constant(*value->constant) : node.named_value(value->name);
  for (const auto& each : branch.nodes()) node.adopt(clone(*each, values, &node.graph()));
  const auto found = values.find(branch.outputs.at(0));
  return found == values.end() ? branch.outputs[0] : found->second;
}

}  // namespace

bool write_choice(Replacement& node) {
  const Node& own = node.node();
  const Graph *yes = own.region("then_branch"), *no = own.region("else_branch");
  if (own.op != "If" || yes == nullptr || no == nullptr || own.outputs.size() != 1) return false;
  for (const Graph* branch : {yes, no}) {
    // A branch may stand for what would be an error if it ran.
    for (const auto& each : branch->nodes()) {
      if (!each->regions.empty()) return false;
    }
  }
  if (yes->outputs.at(0)->type != no->outputs.at(0)->type) return false;
  Value *first = opened(node, *yes), *second = opened(node, *no);
  node("Where", {own.input(0), first, second});
  return true;
}

}  // namespace vernier
