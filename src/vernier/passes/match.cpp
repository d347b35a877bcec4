#include "vernier/passes/match.h"

#include "vernier/ir/rewriter.h"
#include "vernier/ops/group.h"

namespace vernier {

bool is_attention(const Node& node) {
  return node.op == "Attention" && (node.domain.empty() || node.domain == ops::kInternalDomain);
}

Node* maker(const Value* value, std::string_view op) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->op == op && node->domain.empty() && node->output(0) == value ? node
                                                                                               : nullptr;
}

std::optional<double> scalar_of(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->constant->size() != 1) return std::nullopt;
  const ElementType type = value->constant->type();
  if (!is_float(type) && !is_integer(type)) return std::nullopt;
  return value->constant->to_doubles()[0];
}

bool is_scalar(const Value* value, double wanted) {
  const auto found = scalar_of(value);
  if (!found) return false;
  const ElementType type = value->constant->type();
  const double relative = type == ElementType::kBFloat16  ? 1.0 / 256
                          : type == ElementType::kFloat16 ? 1.0 / 2048
                                                          : 2e-6;
  return std::abs(*found - wanted) <= relative * std::abs(wanted);
}

std::optional<Shape> shape_of(const Value* value) {
  if (value == nullptr || !value->type.is_tensor()) return std::nullopt;
  return value->type.tensor.shape;
}

std::optional<Dims> sizes_of(const Value* value) {
  const auto shape = shape_of(value);
  return shape ? to_dims(*shape) : std::nullopt;
}

bool same_type(const Value* a, const Value* b) {
  return a->type.is_tensor() && b->type.is_tensor() && a->type.tensor.shape &&
         a->type.tensor == b->type.tensor;
}

int64_t rank_of(const Value* value) {
  if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) return -1;
  return static_cast<int64_t>(value->type.tensor.shape->size());
}

namespace {

std::optional<WithScalar> with_scalar(Node* node) {
  if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
  for (const size_t side : {1, 0}) {
    if (const auto scalar = scalar_of(node->input(side)))
      return WithScalar{node, node->input(1 - side), *scalar};
  }
  return std::nullopt;
}

}  // namespace

std::optional<WithScalar> product_with_scalar(const Value* value) {
  if (Node* node = maker(value, "Div")) {
    const auto scalar = scalar_of(node->input(1));
    if (!scalar || *scalar == 0 || !is_float(value->type.tensor.element)) return std::nullopt;
    return WithScalar{node, node->input(0), 1 / *scalar};
  }
  return with_scalar(maker(value, "Mul"));
}

std::optional<WithScalar> sum_with_scalar(const Value* value) {
  return with_scalar(maker(value, "Add"));
}

std::optional<Power> square(const Value* value) {
  if (Node* node = maker(value, "Pow"); node != nullptr && is_scalar(node->input(1), 2))
    return Power{node, node->input(0)};
  if (Node* node = maker(value, "Mul"); node != nullptr && node->input(0) == node->input(1))
    return Power{node, node->input(0)};
  return std::nullopt;
}

Value* other_operand(const Node& node, const Value* value) {
  if (node.inputs.size() != 2 || node.input(0) == node.input(1)) return nullptr;
  if (node.input(0) == value) return node.input(1);
  return node.input(1) == value ? node.input(0) : nullptr;
}

bool is_near(double value, double wanted) {
  return std::abs(value - wanted) <= 1e-3 * std::abs(wanted);
}

std::optional<Product> product_around(const Uses& uses, const Value* value, double wanted) {
  Product result;
  double scalar = 1;
  while (result.other == nullptr || !is_near(scalar, wanted)) {
    Node* next = uses.only_reader(value);
    if (next == nullptr || !next->domain.empty()) return std::nullopt;
    Value* other = other_operand(*next, value);
    const auto number = scalar_of(other);
    const bool divides = next->op == "Div" && next->input(0) == value && number && *number != 0;
    if (other == nullptr || (next->op != "Mul" && !divides)) return std::nullopt;
    if (number) {
      scalar *= divides ? 1 / *number : *number;
    } else {
      if (result.other != nullptr) return std::nullopt;
      result.other = other;
      const auto scaled = product_with_scalar(other);
      if (scaled && !is_near(scalar, wanted) && is_near(scalar * scaled->scalar, wanted)) {
        scalar *= scaled->scalar;
        result.other = scaled->value;
        result.beside.push_back(scaled->node);
      }
    }
    result.nodes.push_back(next);
    value = next->output(0);
  }
  return result;
}

bool is_private(const Uses& uses, const std::vector<Node*>& members) {
  const std::set<const Node*> inside(members.begin(), members.end());
  for (const Node* member : members) {
    for (const Value* output : member->outputs) {
      if (output == nullptr || output == members.back()->output(0)) continue;
      for (const Node* reader : uses.readers(output)) {
        if (!inside.contains(reader)) return false;
      }
    }
  }
  return true;
}

Node* replace_with(Graph& graph, const std::vector<Node*>& members, const std::string& op, int64_t version,
                   const std::vector<Value*>& inputs, AttributeMap attributes) {
  auto node = std::make_unique<Node>();
  node->name = members.back()->name;
  node->op = op;
  node->version = version;
  node->inputs = inputs;
  node->outputs = {members.back()->output(0)};
  node->attributes = std::move(attributes);
  Node* result = node.get();
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(node));
  Rewriter(graph).replace(members, std::move(replacement));
  return result;
}

}  // namespace vernier
