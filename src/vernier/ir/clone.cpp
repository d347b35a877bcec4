#include "vernier/ir/clone.h"

#include <unordered_set>

namespace vernier {

namespace {

Value* mapped(const ValueMap& values, Value* value) {
  const auto found = values.find(value);
  return found == values.end() ? value : found->second;
}

std::vector<Value*> mapped(const ValueMap& values, const std::vector<Value*>& list) {
  std::vector<Value*> result;
  result.reserve(list.size());
  for (Value* value : list) result.push_back(value == nullptr ? nullptr : mapped(values, value));
  return result;
}

void collect_captured(const Graph& graph, std::vector<Value*>& captured) {
  std::unordered_set<const Value*> own, seen(captured.begin(), captured.end());
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) own.insert(value.get());
  });
  const auto note = [&](Value* value) {
    if (value != nullptr && !own.contains(value) && seen.insert(value).second) captured.push_back(value);
  };
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      for (Value* input : node->inputs) note(input);
    }
    for (Value* output : inner.outputs) note(output);
  });
}

}  // namespace

std::unique_ptr<Node> clone(const Node& node, ValueMap& values, Graph* parent) {
  auto copy = std::make_unique<Node>();
  copy->name = node.name;
  copy->domain = node.domain;
  copy->op = node.op;
  copy->version = node.version;
  copy->attributes = node.attributes;
  copy->provenance = node.provenance;
  copy->inputs = mapped(values, node.inputs);
  copy->outputs = mapped(values, node.outputs);
  for (const auto& [name, region] : node.regions)
    copy->regions.emplace_back(name, clone(*region, values, parent));
  return copy;
}

std::unique_ptr<Graph> clone(const Graph& graph, ValueMap& values, Graph* parent) {
  auto copy = std::make_unique<Graph>(parent);
  copy->name = graph.name;
  for (const auto& value : graph.values()) {
    Value* twin = copy->add_value(value->name, value->type);
    twin->constant = value->constant;
    twin->declared = value->declared;
    values[value.get()] = twin;
  }
  copy->inputs = mapped(values, graph.inputs);
  for (const auto& node : graph.nodes()) copy->add_node(clone(*node, values, copy.get()));
  copy->outputs = mapped(values, graph.outputs);
  return copy;
}

std::unique_ptr<Graph> clone(const Graph& graph) {
  ValueMap values;
  return clone(graph, values);
}

Model clone(const Model& model) {
  Model copy;
  copy.graph = clone(*model.graph);
  copy.ir_version = model.ir_version;
  copy.opsets = model.opsets;
  copy.producer = model.producer;
  copy.producer_version = model.producer_version;
  copy.domain = model.domain;
  copy.doc = model.doc;
  copy.model_version = model.model_version;
  copy.metadata = model.metadata;
  return copy;
}

std::vector<Value*> captured_values(const Graph& graph) {
  std::vector<Value*> captured;
  collect_captured(graph, captured);
  return captured;
}

std::vector<Value*> captured_values(const Node& node) {
  std::vector<Value*> captured;
  for (const auto& [name, region] : node.regions) collect_captured(*region, captured);
  return captured;
}

}  // namespace vernier
