#include <algorithm>

#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

// Identities and Reshapes that change nothing are removed before anything is fused; an output is not.
bool add_barriers(Model& model, const std::vector<std::string>& nodes) {
  auto& outputs = model.graph->outputs;
  bool changed = false;
  const auto add = [&](Value* value) {
    const bool fits = value != nullptr && value->producer() != nullptr && value->type.is_tensor() &&
                      &value->graph() == model.graph.get();
    if (!fits || std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return;
    outputs.push_back(value);
    changed = true;
  };
  for (const Node* node : nodes_of(model, nodes)) {
    for (Value* value : node->outputs) add(value);
    for (Value* value : node->inputs) add(value);
  }
  return changed;
}

}  // namespace vernier
