// Building blocks of rewrites: what takes the place of a node, written operator by operator.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/passes/build.h"

namespace vernier {

// Nodes in the place of one. They are of the opset of the model, and named after the node and their operator,
// "clip~Max", so that people and engines see where they come from.
class Replacement {
 public:
  // The node outlives this.
  Replacement(const Model& model, Node& node);

  const Node& node() const { return node_; }
  Value* input(size_t index) const { return node_.input(index); }
  ElementType type() const;  // of the first input
  int64_t opset() const { return opset_; }

  // A new node; its result.
  Value* operator()(const std::string& op, const std::vector<Value*>& inputs, AttributeMap attributes = {});
  // A copy of the node under a new name that reads other operands; its first result.
  Value* copy(const std::vector<Value*>& inputs);
  // The node itself, with its name and its other results, on other operands; its first result, under a new
  // name.
  Value* same(const std::vector<Value*>& inputs);
  // A node that is made elsewhere, of values of this graph; it gets a name that is new in the model.
  void adopt(std::unique_ptr<Node> made);
  // A value that some node that is adopted makes, or one with strokes behind its name, if the name is taken.
  Value* named_value(const std::string& name) { return value(name); }
  Graph& graph() const { return graph_; }
  Node& last() { return *made_.back(); }

  Value* constant(Tensor tensor);
  Value* scalar(double value) { return scalar(value, type()); }
  Value* scalar(double value, ElementType type);
  Value* ints(const std::vector<int64_t>& values);
  Value* count(int64_t length);  // 0, 1, … length - 1

  // ReduceSum, ReduceMean, ReduceMax, … over axes, which stay with size 1 if `keep`.
  Value* reduce(const std::string& op, Value* value, const std::vector<int64_t>& axes, bool keep = true);
  Value* slice(Value* value, int64_t axis, int64_t begin, int64_t end);
  // A new axis of size 1 there.
  Value* unsqueeze(Value* value, int64_t axis);
  Value* reshape(Value* value, const std::vector<int64_t>& sizes) {
    return (*this)("Reshape", {value, ints(sizes)});
  }
  Value* transpose(Value* value, const std::vector<int64_t>& perm) {
    return (*this)("Transpose", {value}, {{"perm", perm}});
  }
  Value* cast(Value* value, ElementType type) {
    return (*this)("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
  }
  // `pads` as Pad has them, of all axes.
  Value* pad(Value* value, const std::vector<int64_t>& pads, double with);

  // The node that was made last gives this result of the node, which is not its first.
  void give(Value* result);
  // Puts the new nodes where the node was; the last one made gives its first result. Other results must not
  // be read by anybody, unless a new node gives them.
  void put();

 private:
  Value* value(const std::string& name);

  Node& node_;
  Graph& graph_;
  int64_t opset_;
  FreeNames names_;
  std::set<std::string> node_names_;
  std::vector<std::unique_ptr<Node>> made_;
};

// The node of that name in the model, its regions included; null if there is none.
Node* node_of(const Model& model, const std::string& name);
// Gives those named nodes that have one of these operators of ai.onnx.
std::vector<Node*> nodes_of(const Model& model, const std::vector<std::string>& names,
                            const std::set<std::string>& operators = {});
// Applies a rewrite to each; whether any changed something.
template <class Rewrite>
bool rewrite_each(const Model& model, const std::vector<Node*>& nodes, const Rewrite& rewrite) {
  bool changed = false;
  for (Node* node : nodes) {
    if (node->input(0) == nullptr || node->output(0) == nullptr) continue;
    Replacement replacement(model, *node);
    if (!rewrite(replacement)) continue;
    replacement.put();
    changed = true;
  }
  return changed;
}

// Gives what an initializer, a Constant or an Identity of one holds; null where the value is computed.
const Tensor* constant_of(const Value* value);
// The elements of a constant operand; nothing if it is left out or computed.
std::optional<std::vector<double>> constant_values(const Value* value);
// The numbers of an attribute, or those that hold where the node has none.
std::vector<int64_t> numbers_of(const Node& node, std::string_view name,
                                const std::vector<int64_t>& otherwise);
// Sizes of a value, all known.
std::optional<Dims> sizes_of_value(const Value* value);

}  // namespace vernier
