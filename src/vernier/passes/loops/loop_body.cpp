#include "vernier/passes/loops/loop_body.h"

#include "vernier/ir/clone.h"
#include "vernier/passes/build.h"

namespace vernier {

namespace {

constexpr size_t kFirstCarried = 2;

bool is_integer_scalar(const Value* value, int64_t expected) {
  if (value == nullptr || !value->is_constant() || value->constant->size() != 1) return false;
  const Tensor& tensor = *value->constant;
  return is_integer(tensor.type()) && tensor.to_ints() == std::vector<int64_t>{expected};
}

size_t position_of(const Node& node) {
  const auto& nodes = node.graph().nodes();
  return static_cast<size_t>(
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == &node; }) -
      nodes.begin());
}

}  // namespace

Graph* repeated_body(const Node& node) {
  const bool repeats = node.domain.empty() && (node.op == "Loop" || node.op == "Scan");
  return repeats ? node.region("body") : nullptr;
}

bool is_invariant(const Value* value, const Graph& body) {
  return value != nullptr && (value->is_constant() || &value->graph() != &body);
}

Node* copy_before(Node& loop, const Node& node, const std::vector<Value*>& operands) {
  Graph& outer = loop.graph();
  ValueMap values;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Value* operand = operands[i];
    if (operand != nullptr && &operand->graph() == &node.graph())
      operand = outer.add_constant(free_name(outer, operand->name), *operand->constant);
    if (node.inputs[i] != nullptr) values[node.inputs[i]] = operand;
  }
  for (Value* made : node.outputs) {
    if (made != nullptr) values[made] = outer.add_value(free_name(outer, made->name), made->type);
  }
  return outer.add_node(clone(node, values, &outer), position_of(loop));
}

bool is_trip_number(const Value& value, const Node& loop) {
  if (loop.op != "Loop") return false;
  const Graph& body = *loop.region("body");
  if (&value == body.inputs[0]) return true;
  const auto input = std::find(body.inputs.begin(), body.inputs.end(), &value);
  const auto index = static_cast<size_t>(input - body.inputs.begin());
  if (index < kFirstCarried || index >= body.inputs.size() || !is_integer_scalar(loop.input(index), 0))
    return false;
  const Node* step = body.outputs[index - 1]->producer();
  if (step == nullptr || !step->domain.empty() || step->op != "Add") return false;
  return (step->input(0) == &value && is_integer_scalar(step->input(1), 1)) ||
         (step->input(1) == &value && is_integer_scalar(step->input(0), 1));
}

}  // namespace vernier
