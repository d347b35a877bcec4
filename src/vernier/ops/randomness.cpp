#include "vernier/ops/randomness.h"

#include "vernier/ops/op_def.h"

namespace vernier::ops {

namespace {

// The only element of an input that is known before anything runs.
std::optional<double> known(const Node& node, size_t input) {
  const Value* value = node.input(input);
  if (value == nullptr) return std::nullopt;
  const Tensor* content = value->is_constant() ? &*value->constant : nullptr;
  const Node* producer = value->producer();
  if (content == nullptr && producer != nullptr && producer->op == "Constant") {
    if (const Attribute* attribute = producer->find_attribute("value"))
      content = std::get_if<Tensor>(&attribute->value());
  }
  if (content == nullptr || content->size() != 1) return std::nullopt;
  return content->to_doubles()[0];
}

// From opset 7 to 11 it never trains, before unless is_test is set, and from 12 on as its third input says.
bool dropout_draws(const Node& node) {
  if (node.version >= 12) {
    if (node.input(2) == nullptr || known(node, 2) == 0.0) return false;
    return known(node, 1) != 0.0;
  }
  return node.version < 7 && node.attribute<int64_t>("is_test", 0) == 0 &&
         node.attribute<float>("ratio", 0.5F) != 0;
}

}  // namespace

bool draws_random_numbers(const Node& node) {
  const OpDef* def = OpRegistry::instance().find(node);
  if (def == nullptr) return false;
  return (def->traits & kNondeterministic) != 0 || (def->op == "Dropout" && dropout_draws(node));
}

}  // namespace vernier::ops
