#include "vernier/run/dataflow.h"

#include <algorithm>

#include "vernier/ops/randomness.h"

namespace vernier {

namespace {

// Calls visit(value) for every value that the node or a region of it reads.
template <class Visit>
void for_each_read(const Node& node, const Visit& visit) {
  for (const Value* input : node.inputs) {
    if (input != nullptr) visit(*input);
  }
  for (const auto& [name, region] : node.regions) {
    for_each_graph(static_cast<const Graph&>(*region), [&](const Graph& inner) {
      for (const Value* output : inner.outputs) visit(*output);
      for (const auto& member : inner.nodes()) {
        for (const Value* input : member->inputs) {
          if (input != nullptr) visit(*input);
        }
      }
    });
  }
}

// The node itself, or one in its regions.
const Node* drawing_node(const Node& node) {
  if (ops::draws_random_numbers(node)) return &node;
  const Node* found = nullptr;
  for (const auto& [name, region] : node.regions) {
    for_each_graph(static_cast<const Graph&>(*region), [&](const Graph& inner) {
      for (const auto& member : inner.nodes()) {
        if (found == nullptr && ops::draws_random_numbers(*member)) found = member.get();
      }
    });
  }
  return found;
}

}  // namespace

std::set<const Node*> nodes_behind(const Graph& graph, std::set<std::string> values) {
  std::set<const Node*> found;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const auto& outputs = (*node)->outputs;
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](const Value* output) { return output != nullptr && values.contains(output->name); }))
      continue;
    found.insert(node->get());
    for_each_read(**node, [&](const Value& value) { values.insert(value.name); });
  }
  return found;
}

std::map<std::string, std::string> random_values(const Graph& graph) {
  std::map<std::string, std::string> values;
  for (const auto& node : graph.nodes()) {
    std::string source;
    for_each_read(*node, [&](const Value& value) {
      if (const auto found = values.find(value.name); source.empty() && found != values.end())
        source = found->second;
    });
    if (const Node* drawing = source.empty() ? drawing_node(*node) : nullptr)
      source = fmt::format("node '{}' ({})", drawing->name, drawing->op);
    if (source.empty()) continue;
    for (const Value* output : node->outputs) {
      if (output != nullptr) values.emplace(output->name, source);
    }
  }
  return values;
}

}  // namespace vernier
