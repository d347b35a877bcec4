// Groups a contraction with the pointwise operators that follow it, as far as the backend can compute them
// before it stores.
#include "vernier/ops/group.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

std::string kind_of(const Node& node) {
  if (!node.domain.empty()) return "";
  if (node.op == "Conv") return "conv";
  if (node.op == "MatMul" || node.op == "Gemm") return "matmul";
  return "";
}

// Whether a node makes what it reads in other numbers only: of the same sizes, and type unless it casts.
bool keeps_sizes(const Node& node, const Value& read) {
  const ValueType &from = read.type, &to = node.output(0)->type;
  return from.is_tensor() && to.is_tensor() && from.tensor.shape && from.tensor.shape == to.tensor.shape &&
         (node.op == "Cast" || from.tensor.element == to.tensor.element);
}

// Operands must be there when the anchor runs: they are if they are made before it, or can be, which the
// order of the graph tells; an operand made between anchor and chain is made by nodes that stay before the
// group.
std::vector<Node*> chain_of(Node* anchor, const Uses& uses, const CanFollow& can_follow) {
  std::vector<Node*> chain{anchor};
  for (;;) {
    const Value* value = chain.back()->output(0);
    Node* next = uses.only_reader(value);
    if (next == nullptr || &next->graph() != &anchor->graph() || next->outputs.size() != 1 ||
        !keeps_sizes(*next, *value) || !can_follow(*anchor, *next, *value))
      return chain;
    chain.push_back(next);
  }
}

int fuse_in(Graph& graph, const CanFollow& can_follow) {
  const Uses uses(graph);
  std::vector<std::pair<std::string, std::vector<Node*>>> groups;
  std::set<const Node*> taken;
  for (const auto& node : graph.nodes()) {
    const std::string kind = kind_of(*node);
    if (kind.empty() || taken.contains(node.get()) || node->outputs.size() != 1) continue;
    auto chain = chain_of(node.get(), uses, can_follow);
    // Two contractions may meet in one Add: it goes to the first.
    const auto end =
        std::find_if(chain.begin(), chain.end(), [&](const Node* each) { return taken.contains(each); });
    chain.erase(end, chain.end());
    if (chain.size() < 2) continue;
    taken.insert(chain.begin(), chain.end());
    groups.emplace_back(kind, std::move(chain));
  }
  for (const auto& [kind, chain] : groups) ops::make_group(graph, chain, kind);
  return static_cast<int>(groups.size());
}

}  // namespace

Pass fuse_epilogues(CanFollow can_follow) {
  return {"fuse-epilogues", NumericalClass::kExact,
          [can_follow = std::move(can_follow)](Graph& graph) { return fuse_in(graph, can_follow); }};
}

}  // namespace vernier
