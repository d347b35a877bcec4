#include "vernier/diagnose/under_test/partial_models.h"

#include <algorithm>

#include "vernier/ir/clone.h"

namespace vernier {

namespace {

std::vector<Value*> read_by(const Node& node) {
  std::vector<Value*> values = captured_values(node);
  values.insert(values.end(), node.inputs.begin(), node.inputs.end());
  std::erase(values, nullptr);
  return values;
}

// Removes all nodes but these, and what nobody reads then. Inputs stay, so that the same data serve.
void keep(Graph& graph, const std::set<const Node*>& kept) {
  std::set<const Node*> dead;
  std::set<const Value*> used(graph.inputs.begin(), graph.inputs.end());
  used.insert(graph.outputs.begin(), graph.outputs.end());
  for (const auto& node : graph.nodes()) {
    if (!kept.contains(node.get())) {
      dead.insert(node.get());
      continue;
    }
    for (const Value* value : read_by(*node)) used.insert(value);
    used.insert(node->outputs.begin(), node->outputs.end());
  }
  std::set<const Value*> unused;
  for (const auto& value : graph.values()) {
    if (!used.contains(value.get())) unused.insert(value.get());
  }
  graph.remove_nodes(dead);
  graph.remove_values(unused);
}

}  // namespace

Model exposing(const Model& model, const std::set<std::string>& values) {
  Model copy = clone(model);
  for (const auto& value : copy.graph->values()) {
    const auto& outputs = copy.graph->outputs;
    if (values.contains(value->name) &&
        std::find(outputs.begin(), outputs.end(), value.get()) == outputs.end())
      copy.graph->outputs.push_back(value.get());
  }
  return copy;
}

Model first_nodes(const Model& model, size_t nodes) {
  Model copy = clone(model);
  Graph& graph = *copy.graph;
  const std::set<const Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  std::set<const Value*> read_later;
  for (size_t i = nodes; i < graph.nodes().size(); ++i) {
    for (const Value* value : read_by(*graph.nodes()[i])) read_later.insert(value);
  }
  graph.outputs.clear();
  std::set<const Node*> kept;
  for (size_t i = 0; i < std::min(nodes, graph.nodes().size()); ++i) {
    kept.insert(graph.nodes()[i].get());
    for (Value* value : graph.nodes()[i]->outputs) {
      if (value != nullptr && (outputs.contains(value) || read_later.contains(value)))
        graph.outputs.push_back(value);
    }
  }
  keep(graph, kept);
  return copy;
}

Model up_to(const Model& model, const std::string& value) {
  Model copy = clone(model);
  Graph& graph = *copy.graph;
  graph.outputs.clear();
  for (const auto& known : graph.values()) {
    if (known->name == value) graph.outputs.push_back(known.get());
  }
  std::set<const Node*> kept;
  std::set<const Value*> needed(graph.outputs.begin(), graph.outputs.end());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = *graph.nodes()[i];
    const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](const Value* output) { return needed.contains(output); });
    if (!is_needed) continue;
    kept.insert(&node);
    for (const Value* read : read_by(node)) needed.insert(read);
  }
  keep(graph, kept);
  return copy;
}

std::optional<Model> alone(const Model& model, const std::string& node, const NamedData& operands) {
  Model copy = clone(model);
  Graph& graph = *copy.graph;
  const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                  [&](const auto& each) { return each->name == node; });
  if (found == graph.nodes().end() || !(*found)->regions.empty()) return std::nullopt;
  const Node& wanted = **found;
  graph.inputs.clear();
  graph.outputs.clear();
  for (Value* input : wanted.inputs) {
    const bool is_known =
        input == nullptr || std::find(graph.inputs.begin(), graph.inputs.end(), input) != graph.inputs.end();
    if (is_known || input->is_constant()) continue;
    const auto given = operands.find(input->name);
    if (given == operands.end() || !given->second.is_tensor()) return std::nullopt;
    input->type = ValueType::of(given->second.tensor.type(), to_shape(given->second.tensor.dims()));
    input->declared.reset();
    graph.inputs.push_back(input);
  }
  for (Value* output : wanted.outputs) {
    if (output != nullptr) graph.outputs.push_back(output);
  }
  // The inputs have no producer any more, since their producers go.
  keep(graph, {&wanted});
  return copy;
}

}  // namespace vernier
