#include "vernier/run/dataflow.h"

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

std::set<std::string> values_from(const Graph& graph, const Node& node) {
  std::set<std::string> values;
  for (const auto& each : graph.nodes()) {
    bool follows = each.get() == &node;
    if (!follows)
      for_each_read(*each, [&](const Value& value) { follows = follows || values.contains(value.name); });
    if (!follows) continue;
    for (const Value* output : each->outputs) {
      if (output != nullptr) values.insert(output->name);
    }
  }
  return values;
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
