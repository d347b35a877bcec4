#include "vernier/diagnose/hypotheses/precision/surroundings.h"

#include <algorithm>

#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

Surroundings::Surroundings(const Graph& graph) {
  for (const auto& node : graph.nodes()) add(*node);
  for (const Node* node : nodes_) {
    for (const Value* input : node->inputs) {
      if (input == nullptr) continue;
      auto& known = consumers_[resolved(input)];
      if (std::find(known.begin(), known.end(), node) == known.end()) known.push_back(node);
    }
  }
}

void Surroundings::add(const Node& node) {
  if (!ops::is_group(node)) {
    nodes_.push_back(&node);
    return;
  }
  const Graph& body = ops::body(node);
  for (size_t i = 0; i < body.inputs.size(); ++i) aliases_[body.inputs[i]] = node.inputs[i];
  for (const auto& member : body.nodes()) add(*member);
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (node.outputs[i] != nullptr) aliases_[node.outputs[i]] = body.outputs[i];
  }
}

const Value* Surroundings::resolved(const Value* value) const {
  for (auto found = aliases_.find(value); found != aliases_.end(); found = aliases_.find(value))
    value = found->second;
  return value;
}

const Node* Surroundings::producer(const Value* value) const {
  const Value* real = resolved(value);
  return real == nullptr ? nullptr : real->producer();
}

const std::vector<const Node*>& Surroundings::consumers(const Value* value) const {
  static const std::vector<const Node*> none;
  const auto found = consumers_.find(resolved(value));
  return found == consumers_.end() ? none : found->second;
}

const Tensor* Surroundings::constant(const Value* value) const {
  const Value* real = resolved(value);
  if (real == nullptr) return nullptr;
  if (real->is_constant()) return &*real->constant;
  const Node* node = real->producer();
  const bool same = node != nullptr && has_op(*node, {"Identity", "Cast", "Reshape", "Unsqueeze"});
  return same ? constant(node->input(0)) : nullptr;
}

bool Surroundings::leads_to(const Value* value, const Test& test, const Test& through, int steps) const {
  std::set<const Node*> seen;
  std::vector<const Value*> front{value};
  for (int step = 0; step <= steps && !front.empty(); ++step) {
    std::vector<const Value*> next;
    for (const Value* each : front) {
      for (const Node* user : consumers(each)) {
        if (!seen.insert(user).second) continue;
        if (test(*user)) return true;
        if (through(*user)) next.insert(next.end(), user->outputs.begin(), user->outputs.end());
      }
    }
    front = std::move(next);
  }
  return false;
}

bool Surroundings::comes_from(const Value* value, const Test& test, const Test& through, int steps) const {
  std::set<const Node*> seen;
  std::vector<const Value*> front{value};
  for (int step = 0; step <= steps && !front.empty(); ++step) {
    std::vector<const Value*> next;
    for (const Value* each : front) {
      const Node* node = producer(each);
      if (node == nullptr || !seen.insert(node).second) continue;
      if (test(*node)) return true;
      if (through(*node)) next.insert(next.end(), node->inputs.begin(), node->inputs.end());
    }
    front = std::move(next);
  }
  return false;
}

bool has_op(const Node& node, std::initializer_list<std::string_view> ops) {
  return node.domain.empty() && std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

bool carries_on(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & (ops::kPointwise | ops::kView | ops::kDataMovement)) != 0;
}

bool is_square(const Node& node, const Surroundings& around) {
  if (has_op(node, {"Mul"})) return around.resolved(node.input(0)) == around.resolved(node.input(1));
  if (!has_op(node, {"Pow"})) return false;
  const Tensor* exponent = around.constant(node.input(1));
  return exponent != nullptr && exponent->size() == 1 && exponent->to_doubles()[0] == 2;
}

ElementType element_type_of(const Value* value) {
  return value == nullptr || !value->type.is_tensor() ? ElementType::kUndefined : value->type.tensor.element;
}

}  // namespace vernier
