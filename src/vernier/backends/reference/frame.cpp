#include "vernier/backends/reference/frame.h"

namespace vernier {

namespace {

// The values of `graph` that the regions of one of its nodes read.
std::set<const Value*> captured_values(const Node& node, const Graph& graph) {
  std::set<const Value*> captured;
  for (const auto& [name, region] : node.regions) {
    for_each_graph(*region, [&](const Graph& inner) {
      for (const auto& inner_node : inner.nodes())
        captured.insert(inner_node->inputs.begin(), inner_node->inputs.end());
      captured.insert(inner.outputs.begin(), inner.outputs.end());
    });
  }
  std::erase_if(captured, [&](const Value* value) { return value == nullptr || &value->graph() != &graph; });
  return captured;
}

}  // namespace

ValueUses::ValueUses(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    auto& list = reads[node.get()];
    for (const Value* input : node->inputs) {
      if (input != nullptr && &input->graph() == &graph) list.push_back(input);
    }
    if (!node->regions.empty()) {
      const auto captured = captured_values(*node, graph);
      list.insert(list.end(), captured.begin(), captured.end());
    }
    for (const Value* value : list) ++counts[value];
  }
  for (const Value* output : graph.outputs) ++counts[output];
}

}  // namespace vernier
