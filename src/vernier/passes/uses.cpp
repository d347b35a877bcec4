#include "vernier/passes/uses.h"

#include "vernier/ir/clone.h"

namespace vernier {

Uses::Uses(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const Value* input : node->inputs) {
      if (input != nullptr) readers_[input].push_back(node.get());
    }
    if (node->regions.empty()) continue;
    for (const Value* captured : captured_values(*node)) readers_[captured].push_back(nullptr);
  }
  for (const Value* output : graph.outputs) readers_[output].push_back(nullptr);
}

size_t Uses::count(const Value* value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? 0 : found->second.size();
}

std::span<Node* const> Uses::readers(const Value* value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? std::span<Node* const>() : std::span<Node* const>(found->second);
}

Node* Uses::only_reader(const Value* value) const {
  const auto found = readers_.find(value);
  return found != readers_.end() && found->second.size() == 1 ? found->second[0] : nullptr;
}

}  // namespace vernier
