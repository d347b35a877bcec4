// Removes nodes and values that no output needs.
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

std::set<const Value*> read_values(const Graph& graph) {
  std::set<const Value*> read;
  for_each_graph(graph, [&](const Graph& inner) {
    read.insert(inner.outputs.begin(), inner.outputs.end());
    for (const auto& node : inner.nodes()) read.insert(node->inputs.begin(), node->inputs.end());
  });
  return read;
}

int remove_once(Graph& graph) {
  const auto read = read_values(graph);
  std::set<const Node*> dead;
  for (const auto& node : graph.nodes()) {
    const bool needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](const Value* output) { return read.contains(output); });
    if (!needed) dead.insert(node.get());
  }
  std::set<const Value*> gone;
  for (const Node* node : dead) gone.insert(node->outputs.begin(), node->outputs.end());
  gone.erase(nullptr);
  for (const auto& value : graph.values()) {
    const bool input = std::find(graph.inputs.begin(), graph.inputs.end(), value.get()) != graph.inputs.end();
    if (value->producer() == nullptr && !input && !read.contains(value.get())) gone.insert(value.get());
  }
  const int count = static_cast<int>(dead.size());
  graph.remove_nodes(dead);
  graph.remove_values(gone);
  return count;
}

int remove_all(Graph& graph) {
  int removed = 0;
  for (int now = 1; now > 0; removed += now) {
    now = 0;
    std::vector<Graph*> graphs;
    for_each_graph(graph, [&](Graph& inner) { graphs.push_back(&inner); });
    // Inner graphs first: a graph that an outer one removes is not looked at again.
    for (size_t i = graphs.size(); i-- > 0;) now += remove_once(*graphs[i]);
  }
  return removed;
}

}  // namespace

Pass remove_dead_code() {
  return {"remove-dead-code", NumericalClass::kExact, remove_all};
}

}  // namespace vernier
