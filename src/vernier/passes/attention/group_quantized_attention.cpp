// Groups the attention of a quantized model, which is two products of int8 and a softmax that is quantized,
// with the transposes around it, so that one kernel computes it. Every QuantizeLinear in it rounds as before.
#include "vernier/ops/group.h"
#include "vernier/ops/support/attention/quantized_attention.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// A Transpose of the result that moves whole rows.
Node* transpose_behind(const Uses& uses, const Node& weighted) {
  Node* reader = uses.only_reader(weighted.output(0));
  const bool moves_rows = reader != nullptr && reader->op == "Transpose" && reader->domain.empty() &&
                          &reader->graph() == &weighted.graph() && ops::keeps_last_axis(*reader);
  return moves_rows ? reader : nullptr;
}

// The members in the order of the graph; none if there is no such attention.
std::vector<Node*> members_of(const Uses& uses, Node* weighted,
                              const std::map<const Node*, size_t>& position) {
  const auto content_of = [](const Value* value) {
    return value->is_constant() ? &*value->constant : nullptr;
  };
  auto match = ops::match_quantized_attention(weighted, content_of);
  if (!match) return {};
  std::vector<Node*> members = std::move(match->members);
  if (Node* behind = transpose_behind(uses, *weighted)) members.push_back(behind);
  for (const Node* member : members) {
    if (!position.contains(member)) return {};  // of a graph around this one
  }
  std::sort(members.begin(), members.end(),
            [&](const Node* a, const Node* b) { return position.at(a) < position.at(b); });
  return is_private(uses, members) ? members : std::vector<Node*>();
}

int group_in(Graph& graph) {
  const Uses uses(graph);
  std::map<const Node*, size_t> position;
  for (const auto& node : graph.nodes()) position.emplace(node.get(), position.size());
  std::vector<std::vector<Node*>> groups;
  std::set<const Node*> taken;
  for (const auto& node : graph.nodes()) {
    if (!ops::is_group(*node)) continue;
    auto members = members_of(uses, node.get(), position);
    if (members.empty() ||
        std::any_of(members.begin(), members.end(), [&](const Node* each) { return taken.contains(each); }))
      continue;
    taken.insert(members.begin(), members.end());
    groups.push_back(std::move(members));
  }
  for (const auto& members : groups) ops::make_group(graph, members, "qattention");
  return static_cast<int>(groups.size());
}

}  // namespace

Pass group_quantized_attention() {
  return {"group-quantized-attention", NumericalClass::kReassociating, group_in};
}

}  // namespace vernier
