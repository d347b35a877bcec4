#include "vernier/backends/shared/faults/changed_request.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

ChangedRequest::ChangedRequest(const KernelRequest& original) {
  ValueMap values;
  for (size_t i = 0; i < original.node.inputs.size(); ++i) {
    const Value* input = original.node.inputs[i];
    if (input == nullptr || values.contains(input)) continue;
    const Operand& operand = original.in(i);
    values[input] =
        operand.constant != nullptr
            ? graph_.add_constant(input->name, *operand.constant)
            : graph_.add_input(input->name, ValueType::of(operand.element, to_shape(operand.dims)));
  }
  for (const Value* output : original.node.outputs) {
    if (output != nullptr) values[output] = graph_.add_value(output->name, output->type);
  }
  node_ = graph_.add_node(clone(original.node, values, &graph_));
  for (Value* output : node_->outputs) {
    if (output != nullptr) graph_.outputs.push_back(output);
  }
  request_.emplace(KernelRequest{*node_, original.inputs, original.outputs, nullptr, original.images,
                                 original.tactic, original.open_sizes});
}

std::shared_ptr<ChangedRequest> ChangedRequest::of_a_move(const std::string& op, AttributeMap attributes,
                                                          ElementType element, const Dims& from,
                                                          const Dims& to) {
  Graph graph;
  Node node;
  node.name = node.op = op;
  node.version = 1;
  node.attributes = std::move(attributes);
  node.inputs = {graph.add_input("from", ValueType::of(element, to_shape(from)))};
  node.outputs = {graph.add_value("to", ValueType::of(element, to_shape(to)))};
  return std::make_shared<ChangedRequest>(
      KernelRequest{node, {Operand{element, from}}, {Operand{element, to}}});
}

std::vector<Node*> ChangedRequest::members() {
  if (!ops::is_group(*node_)) return {node_};
  std::vector<Node*> all;
  for (const auto& member : ops::body(*node_).nodes()) all.push_back(member.get());
  return all;
}

void ChangedRequest::give(Node& member, size_t at, const Tensor& content, Layout layout, bool known) {
  const size_t index = &member == node_ ? at : node_->inputs.size();
  const std::string name = fmt::format("{}_given_{}", node_->name, index);
  const Dims dims = request_->in(static_cast<size_t>(operand_of(member, at))).dims;
  const auto type = ValueType::of(content.type(), to_shape(dims));
  Value* outside = known ? graph_.add_constant(name, content) : graph_.add_input(name, type);
  if (&member != node_) {
    member.inputs[at] = node_->region("body")->add_input(name, type);
    node_->inputs.push_back(outside);
    request_->inputs.emplace_back();
  } else {
    node_->inputs[at] = outside;
  }
  const Tensor& kept = given_[index] = content;
  request_->inputs[index] = Operand{content.type(), dims, layout, known ? &kept : nullptr};
}

int ChangedRequest::operand_of(const Node& member, size_t at) const {
  const Value* value = member.input(at);
  if (value == nullptr) return -1;
  if (&member == node_) return static_cast<int>(at);
  const auto& inputs = ops::body(*node_).inputs;
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

Dims ChangedRequest::infer_again() {
  ops::infer_types(graph_);
  Operand& output = *request_->outputs.at(0);
  output.dims = *to_dims(*node_->output(0)->type.tensor.shape);
  return output.dims;
}

}  // namespace vernier
