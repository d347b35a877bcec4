#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

namespace {

// The nodes that make and read floats of type `from` do so of type `to`, between Casts.
class Widening {
 public:
  Widening(Model& model, std::set<ElementType> from, ElementType to)
      : model_(model), from_(std::move(from)), to_(to) {}

  bool run(const std::vector<std::string>& nodes) {
    std::set<const Node*> order;
    for (const Node* node : nodes_of(model_, nodes)) order.insert(node);
    std::vector<Node*> wanted;
    for_each_graph(*model_.graph, [&](Graph& graph) {
      for (const auto& node : graph.nodes()) {
        if (order.contains(node.get())) wanted.push_back(node.get());
      }
    });
    return rewrite_each(model_, wanted, [&](Replacement& node) { return widen(node); });
  }

 private:
  bool is_narrow(const Value* value) const {
    return value != nullptr && value->type.is_tensor() && from_.contains(value->type.tensor.element);
  }
  Value* wide(Replacement& node, Value* value) const {
    const Tensor* held = constant_of(value);
    return held == nullptr ? node.cast(value, to_)
                           : node.constant(Tensor::from_doubles(to_, held->dims(), held->to_doubles()));
  }
  bool widen(Replacement& node) {
    const Node& own = node.node();
    if (own.op == "Cast" || !own.regions.empty() || own.outputs.size() != 1 || !is_narrow(own.output(0)))
      return false;
    std::vector<Value*> operands;
    for (Value* input : own.inputs) {
      const auto found = known_.find(input);
      operands.push_back(found != known_.end() ? found->second
                         : is_narrow(input)    ? wide(node, input)
                                               : input);
    }
    const ElementType type = own.output(0)->type.tensor.element;
    Value* result = node.copy(operands);
    known_[own.output(0)] = result;
    node.cast(result, type);
    return true;
  }

  Model& model_;
  std::set<ElementType> from_;
  ElementType to_;
  std::map<const Value*, Value*> known_;  // what is between two such nodes stays wide
};

// The nodes of a graph that these follow from, and these.
std::vector<std::string> path_to(const std::vector<Node*>& nodes) {
  std::set<const Node*> seen;
  std::vector<const Node*> open(nodes.begin(), nodes.end());
  std::vector<std::string> names;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    names.push_back(node->name);
    for (const Value* input : node->inputs) open.push_back(input == nullptr ? nullptr : input->producer());
  }
  return names;
}

}  // namespace

bool widen_types(Model& model, const std::vector<std::string>& nodes) {
  return Widening(model, {ElementType::kFloat16, ElementType::kBFloat16}, ElementType::kFloat).run(nodes);
}

bool widen_to_double(Model& model, const std::vector<std::string>& nodes) {
  return Widening(model, {ElementType::kFloat}, ElementType::kDouble).run(nodes);
}

bool widen_path_to_double(Model& model, const std::vector<std::string>& nodes) {
  return widen_to_double(model, path_to(nodes_of(model, nodes)));
}

}  // namespace vernier
