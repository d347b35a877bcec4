// Queries, keys and values that a Split cuts out of the rows of one tensor are read where they lie: the Split
// and the Attention become a group.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// Whose columns are known; there may be any number of rows.
bool has_columns(const Value* rows) {
  const auto shape = shape_of(rows);
  return shape && shape->size() == 3 && shape->back().is_constant();
}

// The Split whose parts, of rows, the attention reads, and nobody else.
Node* split_of(const Uses& uses, const Node& attention) {
  Node* split = nullptr;
  for (size_t i = 0; i < 3; ++i) {
    const Value* part = attention.input(i);
    Node* producer = part == nullptr ? nullptr : part->producer();
    if (producer == nullptr || producer->op != "Split" || !producer->domain.empty() ||
        (split != nullptr && producer != split))
      return nullptr;
    split = producer;
  }
  const int64_t axis = ops::integer_attribute(*split, "axis");
  const bool by_columns = has_columns(split->input(0)) && (axis == 2 || axis == -1);
  const bool alone = std::all_of(split->outputs.begin(), split->outputs.end(), [&](const Value* part) {
    return part != nullptr && uses.only_reader(part) == &attention && has_columns(part);
  });
  return by_columns && alone && split->outputs.size() == 3 ? split : nullptr;
}

int group_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::vector<Node*>> found;
  for (const auto& node : graph.nodes()) {
    if (!is_attention(*node) || node->outputs.size() != 1) continue;
    if (Node* split = split_of(uses, *node)) found.push_back({split, node.get()});
  }
  for (const auto& members : found) ops::make_group(graph, members, "attention");
  return static_cast<int>(found.size());
}

}  // namespace

Pass read_packed_heads() {
  return {"read-packed-heads", NumericalClass::kExact, group_in};
}

}  // namespace vernier
