#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

namespace {

bool is_narrow(const Value* value) {
  if (value == nullptr || !value->type.is_tensor()) return false;
  const ElementType type = value->type.tensor.element;
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

Value* wide(Replacement& node, Value* value) {
  const Tensor* held = constant_of(value);
  return held == nullptr
             ? node.cast(value, ElementType::kFloat)
             : node.constant(Tensor::from_doubles(ElementType::kFloat, held->dims(), held->to_doubles()));
}

}  // namespace

bool widen_types(Model& model, const std::vector<std::string>& nodes) {
  // What is between two nodes that are upcast stays wide.
  std::map<const Value*, Value*> known;
  std::set<const Node*> order;
  std::vector<Node*> wanted;
  for (Node* node : nodes_of(model, nodes)) order.insert(node);
  for_each_graph(*model.graph, [&](Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (order.contains(node.get())) wanted.push_back(node.get());
    }
  });
  return rewrite_each(model, wanted, [&](Replacement& node) {
    const Node& own = node.node();
    if (own.op == "Cast" || !own.regions.empty() || own.outputs.size() != 1 || !is_narrow(own.output(0)))
      return false;
    std::vector<Value*> operands;
    for (Value* input : own.inputs) {
      const auto found = known.find(input);
      operands.push_back(found != known.end() ? found->second : is_narrow(input) ? wide(node, input) : input);
    }
    const ElementType type = own.output(0)->type.tensor.element;
    Value* result = node.copy(operands);
    known[own.output(0)] = result;
    node.cast(result, type);
    return true;
  });
}

}  // namespace vernier
