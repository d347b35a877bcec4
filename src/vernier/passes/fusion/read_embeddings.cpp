// Recurrent operators whose input is a Gather of rows of a constant table, as embeddings are: the Gather, a
// Transpose between them, and the operator become a group, whose kernel can multiply the table by the weights
// once.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool is_known(const Value* value) {
  return value == nullptr || value->is_constant();
}

// Whether the rows times the weights are no more numbers than both, and computed in a few milliseconds.
bool stays_small(const Tensor& table, const Tensor& weights) {
  if (table.rank() != 2 || weights.rank() != 3 || table.dims()[1] != weights.dims()[2]) return false;
  constexpr int64_t kMostProducts = int64_t{1} << 28;
  const int64_t columns = weights.dims()[0] * weights.dims()[1], made = table.dims()[0] * columns;
  return table.size() > 0 && made <= table.size() + weights.size() &&
         made <= kMostProducts / std::max<int64_t>(1, table.dims()[1]);
}

// Gather, perhaps Transpose, and the operator.
std::vector<Node*> members_of(const Uses& uses, Node& node) {
  if (!node.domain.empty() || !ops::has_trait(node, ops::kRecurrent)) return {};
  std::vector<Node*> members{&node};
  const auto read_by = [&](Node* maker) {
    return maker != nullptr && uses.only_reader(maker->output(0)) == members.front();
  };
  Node* transpose = maker(node.input(0), "Transpose");
  if (transpose != nullptr) {
    if (!read_by(transpose) || transposition(transpose) != std::vector<size_t>{1, 0, 2}) return {};
    members.insert(members.begin(), transpose);
  }
  Node* gather = maker(members.front()->input(0), "Gather");
  if (!read_by(gather) || ops::integer_attribute(*gather, "axis") != 0) return {};
  members.insert(members.begin(), gather);
  const Value *table = gather->input(0), *weights = node.input(1);
  const bool known = table->is_constant() && weights->is_constant() && is_known(node.input(2)) &&
                     is_known(node.input(3)) && table->constant->type() == ElementType::kFloat &&
                     weights->constant->type() == ElementType::kFloat;
  const auto ids = sizes_of(gather->input(1));
  if (!known || !ids || ids->size() != 2 || !stays_small(*table->constant, *weights->constant)) return {};
  return members;
}

int group_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::vector<Node*>> found;
  for (const auto& node : graph.nodes()) {
    if (auto members = members_of(uses, *node); !members.empty()) found.push_back(std::move(members));
  }
  for (const auto& members : found) ops::make_group(graph, members, "recurrent");
  return static_cast<int>(found.size());
}

}  // namespace

Pass read_embeddings() {
  return {"read-embeddings", NumericalClass::kExact, group_in};
}

}  // namespace vernier
