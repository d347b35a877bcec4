#include "vernier/diagnose/hypotheses/control/lone_node.h"

#include "vernier/ir/clone.h"

namespace vernier {

namespace {

Tensor as_declared(const Member& member, size_t index) {
  const Tensor& tensor = member.in(index);
  const ElementType declared = member.declared(index);
  if (!tensor.is_defined() || tensor.type() == declared || !is_float(tensor.type())) return tensor;
  return Tensor::from_doubles(declared, tensor.dims(), tensor.to_doubles());
}

}  // namespace

LoneNode::LoneNode(const Member& member, const HypothesisContext& context) {
  ValueMap values;
  const auto bring = [&](const Value* value, Tensor tensor) {
    if (values.contains(value)) return;
    if (!tensor.is_defined()) throw unsupported("nobody shows '{}'", value->name);
    values[value] = add_input(value->name, std::move(tensor));
  };
  const Node& node = member.node();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != nullptr) bring(node.inputs[i], as_declared(member, i));
  }
  for (const Value* value : captured_values(node)) {
    const Tensor* tensor = value->is_constant() ? &*value->constant : context.value(*value);
    bring(value, tensor == nullptr ? Tensor() : *tensor);
  }
  for (const Value* output : node.outputs) {
    if (output != nullptr) values[output] = graph_.add_value(output->name, output->type);
  }
  node_ = graph_.add_node(clone(node, values, &graph_));
  for (Value* output : node_->outputs) {
    if (output != nullptr) graph_.outputs.push_back(output);
  }
  count_ = node.outputs.size();
}

Value* LoneNode::add_input(const std::string& name, Tensor tensor) {
  Value* input = graph_.add_input(name, ValueType::of(tensor.type(), to_shape(tensor.dims())));
  data_[name] = std::move(tensor);
  return input;
}

Tensors LoneNode::run(const InterpreterOptions& options) const {
  const auto made = run_reference(graph_, data_, options).outputs;
  Tensors results(count_);
  size_t next = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (node_->outputs[i] == nullptr) continue;
    const Datum& datum = made.at(next++);
    if (datum.is_tensor()) results[i] = datum.tensor;
  }
  return results;
}

}  // namespace vernier
