// Constants that fp16 does not hold: sentinels beyond its range, and epsilons below it.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

namespace {

constexpr double kLargest = 65504, kSentinel = 30000, kMasked = 10000;
constexpr double kLeastNormal = 0x1p-14;

// Other constants, where `change` changes one; whether it did.
template <class Change>
bool change_constants(Model& model, Node& node, const Change& change) {
  bool changed = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* held = constant_of(node.inputs[i]);
    if (held == nullptr || !is_float(held->type())) continue;
    auto values = held->to_doubles();
    bool differs = false;
    for (double& value : values) {
      const double now = change(value);
      differs = differs || now != value;
      value = now;
    }
    if (!differs) continue;
    Graph& graph = node.graph();
    Value* other = graph.add_constant(free_name(*model.graph, node.name + "~constant"),
                                      Tensor::from_doubles(held->type(), held->dims(), values));
    node.inputs[i] = other;
    changed = true;
  }
  return changed;
}

double tame(double value) {
  return std::abs(value) > kLargest ? std::copysign(kSentinel, value) : value;
}

// The next Add behind the node, through what only moves or multiplies the mask.
Node* adding(Graph& graph, Node* node) {
  static const std::set<std::string> passing = {"Mul",  "Unsqueeze", "Reshape", "Expand",
                                                "Cast", "Transpose", "Squeeze"};
  for (int steps = 0; node != nullptr && steps < 4; ++steps) {
    if (node->op == "Add") return node;
    if (steps > 0 && !passing.contains(node->op)) return nullptr;
    Node* next = nullptr;
    for (const auto& each : graph.nodes()) {
      if (std::find(each->inputs.begin(), each->inputs.end(), node->output(0)) != each->inputs.end())
        next = each.get();
    }
    node = next;
  }
  return nullptr;
}

bool choose_by_where(Model& model, Node& add, const std::set<const Value*>& masks) {
  const size_t at = masks.contains(add.input(0)) || constant_of(add.input(0)) != nullptr ? 0 : 1;
  return rewrite_each(model, {&add}, [&](Replacement& node) {
    Value *mask = node.input(at), *scores = node.input(1 - at);
    Value* hidden = node("Less", {mask, node.scalar(-kMasked)});
    // Elements that are not hidden get what they had; hidden ones get the same everywhere.
    Value* small = node("Max", {mask, node.scalar(-kMasked)});
    Value* sum = node("Add", {scores, small});
    node("Where", {hidden, node.scalar(-kSentinel), sum});
    return true;
  });
}

}  // namespace

bool tame_sentinels(Model& model, const std::vector<std::string>& nodes, bool by_where) {
  bool changed = false, chosen = false;
  for (Node* node : nodes_of(model, nodes)) {
    if (!change_constants(model, *node, tame)) continue;
    changed = true;
    Node* add = by_where ? adding(node->graph(), node) : nullptr;
    if (add == nullptr) continue;
    // The mask reaches the sum by way of the node.
    std::set<const Value*> masks;
    for (Node* step = node; step != add;) {
      masks.insert(step->output(0));
      Node* next = nullptr;
      for (const auto& each : node->graph().nodes()) {
        if (std::find(each->inputs.begin(), each->inputs.end(), step->output(0)) != each->inputs.end())
          next = each.get();
      }
      step = next;
    }
    chosen = choose_by_where(model, *add, masks) || chosen;
  }
  return by_where ? chosen : changed;
}

bool raise_epsilons(Model& model, const std::vector<std::string>& nodes) {
  bool changed = false;
  for (Node* node : nodes_of(model, nodes)) {
    changed = change_constants(model, *node,
                               [](double value) {
                                 return value != 0 && std::abs(value) < kLeastNormal
                                            ? std::copysign(kLeastNormal, value)
                                            : value;
                               }) ||
              changed;
  }
  return changed;
}

}  // namespace vernier
