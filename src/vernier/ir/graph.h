// The intermediate representation: a graph of nodes over SSA values, with nested graphs (regions) for control
// flow.
//
// Operators keep the name, domain and opset version of the ONNX model they came from, so import and export
// lose nothing; a node's semantics are those of `version` in its domain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/ir/attribute.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

class Graph;
class Node;

// The names of the ONNX nodes that a node computes.
using Provenance = std::set<std::string>;

class Value {
 public:
  std::string name;  // unique in its graph and in every graph around it
  ValueType type;
  std::optional<Tensor> constant;  // an initializer; its producer is null
  // Holds the type that the ONNX file stated, if it did; `type` is what inference found. Export states it
  // again, word for word.
  std::optional<ValueType> declared;

  Node* producer() const { return producer_; }  // null for inputs and initializers
  Graph& graph() const { return *graph_; }
  bool is_constant() const { return constant.has_value(); }

 private:
  friend class Graph;
  Node* producer_ = nullptr;
  Graph* graph_ = nullptr;
};

class Node {
 public:
  Node();
  ~Node();

  std::string name;             // unique in the model
  std::string domain;           // "" is ai.onnx
  std::string op;               // "Conv"
  int64_t version = 0;          // opset version of `domain` that gives the node its meaning
  std::vector<Value*> inputs;   // null: an optional input left out
  std::vector<Value*> outputs;  // null: an optional output left out
  AttributeMap attributes;
  std::vector<std::pair<std::string, std::unique_ptr<Graph>>> regions;  // "then_branch", "body", …
  Provenance provenance;

  Graph& graph() const { return *graph_; }
  std::string qualified_op() const { return domain.empty() ? op : domain + "::" + op; }
  Value* input(size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  Value* output(size_t index) const { return index < outputs.size() ? outputs[index] : nullptr; }
  Graph* region(std::string_view name) const;
  // The attribute's value, or `fallback` if absent. Throws bad_input, naming the node, if it has another
  // type.
  template <class T>
  T attribute(std::string_view name, T fallback) const;
  const Attribute* find_attribute(std::string_view name) const;

 private:
  friend class Graph;
  Graph* graph_ = nullptr;
};

class Graph {
 public:
  explicit Graph(Graph* parent = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::vector<Value*> inputs;   // an input with a constant has that constant as its default
  std::vector<Value*> outputs;  // may be values of a graph around this one

  Graph* parent() const { return parent_; }                                   // null for the main graph
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }  // in topological order
  const std::vector<std::unique_ptr<Value>>& values() const { return values_; }

  Value* add_value(std::string name, ValueType type = {});
  Value* add_input(std::string name, ValueType type);
  Value* add_constant(std::string name, Tensor tensor);
  // Takes over the node, makes it the producer of its outputs, and places it before position `before`
  // (default: last).
  Node* add_node(std::unique_ptr<Node> node, std::optional<size_t> before = std::nullopt);

  // Replaces every use of `old` (in this graph, its regions and its outputs) by `replacement`.
  void replace_uses(Value* old, Value* replacement);
  // Removes nodes and values; the caller guarantees that nothing refers to them any more.
  void remove_nodes(const std::set<const Node*>& dead);
  void remove_values(const std::set<const Value*>& dead);
  // Gives the nodes a new order.
  void reorder(const std::vector<size_t>& order);

 private:
  Graph* parent_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// Calls visit(graph) for `graph` and every region inside, outer before inner.
template <class Visit>
void for_each_graph(Graph& graph, const Visit& visit) {
  visit(graph);
  for (const auto& node : graph.nodes()) {
    for (const auto& [name, region] : node->regions) for_each_graph(*region, visit);
  }
}
template <class Visit>
void for_each_graph(const Graph& graph, const Visit& visit) {
  for_each_graph(const_cast<Graph&>(graph), [&](Graph& inner) { visit(static_cast<const Graph&>(inner)); });
}

// A graph with what surrounds it in an ONNX file.
struct Model {
  std::unique_ptr<Graph> graph;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("" is ai.onnx) -> version
  std::string producer, producer_version, domain, doc;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;

  int64_t opset(std::string_view domain) const;  // 0: not imported
};

template <class T>
T Node::attribute(std::string_view attribute_name, T fallback) const {
  const Attribute* found = find_attribute(attribute_name);
  if (found == nullptr) return fallback;
  try {
    return found->get<T>();
  } catch (Error& error) {
    throw bad_input("attribute '{}' {}", attribute_name, error.message()).at_node(name);
  }
}

}  // namespace vernier
