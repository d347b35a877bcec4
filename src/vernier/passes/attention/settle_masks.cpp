// A mask that exporters make of sizes is known as soon as these are. Where it lets every query attend the
// keys up to its own place, a flag says the same, and kernels need not compute what it forbids; where it
// forbids nothing, as when a decoder takes one token, there is none.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/group.h"
#include "vernier/passes/attention/attention_match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr size_t kMask = 3;

bool forbids_nothing(const Tensor& mask) {
  const auto values = mask.to_doubles();
  const double allowed = mask.type() == ElementType::kBool ? 1 : 0;
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == allowed; });
}

// Rows of queries or keys, packed or not.
Dim rows_of(const Value* operand) {
  const auto shape = shape_of(operand);
  return shape && shape->size() >= 3 ? (*shape)[shape->size() == 3 ? 1 : 2] : Dim(-1);
}

bool is_causal_mask(const Node& attention) {
  const Shape scores = {1, 1, rows_of(attention.input(0)), rows_of(attention.input(1))};
  Value* mask = attention.input(kMask);
  if (mask->constant->type() == ElementType::kBool)
    return is_causal({nullptr, mask}, scores, kForbiddenScore);
  return is_causal({mask}, scores, kForbiddenScore);
}

bool settle(Graph& graph, Node* node) {
  const bool causal = is_causal_mask(*node);
  if (!causal && !forbids_nothing(*node->input(kMask)->constant)) return false;
  auto settled = std::make_unique<Node>();
  settled->name = node->name;
  settled->domain = node->domain;
  settled->op = node->op;
  settled->version = node->version;
  settled->inputs.assign(node->inputs.begin(), node->inputs.begin() + kMask);
  settled->outputs = node->outputs;
  settled->attributes = node->attributes;
  if (causal) settled->attributes["is_causal"] = Attribute(int64_t{1});
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(settled));
  Rewriter(graph).replace({node}, std::move(replacement));
  return true;
}

int settle_in(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes()) {
    const Value* mask = node->input(kMask);
    if (is_attention(*node) && node->domain == ops::kInternalDomain && mask != nullptr && mask->is_constant())
      found.push_back(node.get());
  }
  return static_cast<int>(
      std::count_if(found.begin(), found.end(), [&](Node* node) { return settle(graph, node); }));
}

}  // namespace

Pass settle_masks() {
  return {"settle-masks", NumericalClass::kReassociating, [](Graph& graph) {
            int settled = 0;
            for_each_graph(graph, [&](Graph& inner) { settled += settle_in(inner); });
            return settled;
          }};
}

}  // namespace vernier
