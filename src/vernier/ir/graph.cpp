#include "vernier/ir/graph.h"

#include <algorithm>
#include <unordered_set>

namespace vernier {

Node::Node() = default;
Node::~Node() = default;

Graph::Graph(Graph* parent) : parent_(parent) {}
Graph::~Graph() = default;

Graph* Node::region(std::string_view wanted) const {
  for (const auto& [region_name, graph] : regions) {
    if (region_name == wanted) return graph.get();
  }
  return nullptr;
}

const Attribute* Node::find_attribute(std::string_view attribute_name) const {
  const auto found = attributes.find(attribute_name);
  return found == attributes.end() ? nullptr : &found->second;
}

Value* Graph::add_value(std::string value_name, ValueType type) {
  auto& value = values_.emplace_back(std::make_unique<Value>());
  value->name = std::move(value_name);
  value->type = std::move(type);
  value->graph_ = this;
  return value.get();
}

Value* Graph::add_input(std::string value_name, ValueType type) {
  return inputs.emplace_back(add_value(std::move(value_name), std::move(type)));
}

Value* Graph::add_constant(std::string value_name, Tensor tensor) {
  Value* value = add_value(std::move(value_name), ValueType::of(tensor.type(), to_shape(tensor.dims())));
  value->constant = std::move(tensor);
  return value;
}

Node* Graph::add_node(std::unique_ptr<Node> node, std::optional<size_t> before) {
  node->graph_ = this;
  for (Value* output : node->outputs) {
    if (output != nullptr) output->producer_ = node.get();
  }
  for (auto& [region_name, region] : node->regions) region->parent_ = this;
  const auto position = nodes_.begin() + static_cast<std::ptrdiff_t>(before.value_or(nodes_.size()));
  return nodes_.insert(position, std::move(node))->get();
}

void Graph::replace_uses(Value* old, Value* replacement) {
  for_each_graph(*this, [&](Graph& graph) {
    for (const auto& node : graph.nodes())
      std::replace(node->inputs.begin(), node->inputs.end(), old, replacement);
    std::replace(graph.outputs.begin(), graph.outputs.end(), old, replacement);
  });
}

void Graph::remove_nodes(const std::set<const Node*>& dead) {
  for (const auto& value : values_) {
    if (dead.contains(value->producer_)) value->producer_ = nullptr;
  }
  std::erase_if(nodes_, [&](const auto& node) { return dead.contains(node.get()); });
}

void Graph::remove_values(const std::set<const Value*>& dead) {
  std::erase_if(values_, [&](const auto& value) { return dead.contains(value.get()); });
}

void Graph::reorder(const std::vector<size_t>& order) {
  std::vector<std::unique_ptr<Node>> sorted;
  sorted.reserve(order.size());
  for (const size_t index : order) sorted.push_back(std::move(nodes_.at(index)));
  nodes_ = std::move(sorted);
}

int64_t Model::opset(std::string_view wanted) const {
  for (const auto& [opset_domain, version] : opsets) {
    if (opset_domain == wanted) return version;
  }
  return 0;
}

}  // namespace vernier
