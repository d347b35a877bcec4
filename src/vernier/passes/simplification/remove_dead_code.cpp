// Removes nodes and values that no output needs, and leaves out outputs of nodes that nobody reads.
#include "vernier/ops/op_def.h"
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

// Operators whose kernels have less to do without an output; what they compute else is the same.
bool may_leave_out(const Node& node, size_t output) {
  static const std::set<std::string_view> ops = {"GRU", "LSTM", "LayerNormalization", "MaxPool", "RNN"};
  const auto* def = ops::OpRegistry::instance().find(node);
  return node.domain.empty() && ops.contains(node.op) && def != nullptr &&
         output >= static_cast<size_t>(def->min_outputs);
}

// Whether there was something to leave out; what it was goes to `gone`.
bool leave_out(Node& node, const std::set<const Value*>& read, std::set<const Value*>& gone) {
  const size_t before = gone.size();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Value*& output = node.outputs[i];
    if (output == nullptr || read.contains(output) || !may_leave_out(node, i)) continue;
    gone.insert(output);
    output = nullptr;
  }
  if (gone.size() == before) return false;
  while (!node.outputs.empty() && node.outputs.back() == nullptr) node.outputs.pop_back();
  return true;
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
  int count = static_cast<int>(dead.size());
  for (const auto& node : graph.nodes()) {
    if (!dead.contains(node.get()) && leave_out(*node, read, gone)) ++count;
  }
  for (const Node* node : dead) gone.insert(node->outputs.begin(), node->outputs.end());
  gone.erase(nullptr);
  for (const auto& value : graph.values()) {
    const bool input = std::find(graph.inputs.begin(), graph.inputs.end(), value.get()) != graph.inputs.end();
    if (value->producer() == nullptr && !input && !read.contains(value.get())) gone.insert(value.get());
  }
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
