#include <algorithm>

#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

bool has_type_of(const Value& value, const Value& operand) {
  if (!value.type.is_tensor() || !operand.type.is_tensor()) return false;
  const auto &to = value.type.tensor, &from = operand.type.tensor;
  return to.element == from.element && to.shape && from.shape && *to.shape == *from.shape;
}

// The node with its operand in the place of its result; nothing if no operand can take it.
std::optional<ReproCase> without(const ReproCase& whole, const std::string& name) {
  ReproCase candidate = copy(whole);
  Graph& graph = *candidate.model.graph;
  for (const auto& node : graph.nodes()) {
    if (node->name != name || node->outputs.size() != 1 || node->outputs[0] == nullptr) continue;
    for (Value* operand : node->inputs) {
      if (operand == nullptr || operand->is_constant() || !has_type_of(*node->outputs[0], *operand)) continue;
      graph.replace_uses(node->outputs[0], operand);
      // An output that nothing computes would be no case.
      const bool is_made = std::all_of(graph.outputs.begin(), graph.outputs.end(),
                                       [](const Value* output) { return output->producer() != nullptr; });
      return is_made ? std::optional(std::move(candidate)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

void bypass_nodes(Shrinking& shrinking) {
  constexpr size_t kMostNodes = 40;
  const size_t nodes = shrinking.best().model.graph->nodes().size();
  if (nodes < 2 || nodes > kMostNodes || shrinking.is_over()) return;
  shrinking.begin("bypasses");
  std::vector<std::string> names;
  for (const auto& node : shrinking.best().model.graph->nodes()) names.push_back(node->name);
  for (const std::string& name : names) {
    auto candidate = without(shrinking.best(), name);
    if (candidate) shrinking.offer(std::move(*candidate));
  }
}

}  // namespace vernier
