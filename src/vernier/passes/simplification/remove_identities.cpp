// Removes nodes that yield one of their inputs: Identity, Dropout, Cast to the same type, what moves elements
// nowhere, Where of what is never NaN against what should stand for NaN, and QuantizeLinear of what was
// dequantized alike. CastLike becomes Cast, so that it depends on no value but the one that it casts.
#include <algorithm>
#include <cmath>

#include "vernier/ir/rewriter.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool same_sizes(const Value& a, const Value& b) {
  return a.type.is_tensor() && b.type.is_tensor() && a.type.tensor.shape && a.type.tensor == b.type.tensor;
}

bool is_training_mode(const Node& node) {
  const Value* flag = node.input(2);
  return flag != nullptr && !(flag->is_constant() && flag->constant->to_ints() == std::vector<int64_t>{0});
}

bool is_identity(const Node& node) {
  if (!node.domain.empty() || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  const Value &from = *node.input(0), &to = *node.output(0);
  if (node.op == "Identity") return from.type == to.type;
  if (node.op == "Dropout")
    return node.version >= 7 && !is_training_mode(node) && same_sizes(from, to) &&
           (node.output(1) == nullptr || !is_read(node.graph(), node.output(1)));
  if (node.op == "Cast" || node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
      node.op == "Flatten" || node.op == "Expand")
    return same_sizes(from, to);
  if (node.op == "Transpose" && same_sizes(from, to)) {
    const auto order = node.attribute<std::vector<int64_t>>("perm", {});
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<int64_t>(i)) return false;
    }
    return !order.empty();
  }
  return false;
}

// Made of integers by finite scales.
bool is_never_nan(const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr || !node->domain.empty() || node->op != "DequantizeLinear") return false;
  const Value *from = node->input(0), *scale = node->input(1);
  if (from == nullptr || !is_integer(from->type.tensor.element) || scale == nullptr || !scale->is_constant())
    return false;
  const auto scales = scale->constant->to_doubles();
  return std::all_of(scales.begin(), scales.end(), [](double each) { return std::isfinite(each); });
}

bool chooses_last(const Node& node) {
  if (!node.domain.empty() || node.op != "Where" || node.input(2) == nullptr) return false;
  const Node* condition = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  return condition != nullptr && condition->domain.empty() && condition->op == "IsNaN" &&
         condition->input(0) != nullptr && is_never_nan(*condition->input(0)) &&
         same_sizes(*node.input(2), *node.output(0));
}

bool same_constants(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a == b || (a->is_constant() && b->is_constant() && a->constant->identical(*b->constant));
}

// One scale for the whole tensor. Up to 255 units, rounded and divided by the unit, are as many again within
// 2^-15, if nothing comes near the ends of the range of floats.
bool quantizes_again(const Node& node) {
  const auto is = [](const Node* of, const char* op) {
    return of != nullptr && of->domain.empty() && of->op == op;
  };
  if (!is(&node, "QuantizeLinear") || node.input(0) == nullptr) return false;
  const Node* before = node.input(0)->producer();
  if (!is(before, "DequantizeLinear") || before->input(0) == nullptr || before->input(1) == nullptr ||
      !before->input(1)->is_constant())
    return false;
  const Tensor& scale = *before->input(1)->constant;
  const ElementType type = before->input(0)->type.tensor.element;
  if (scale.size() != 1 || scale.type() != ElementType::kFloat ||
      (type != ElementType::kInt8 && type != ElementType::kUint8))
    return false;
  const double unit = std::abs(scale.to_doubles()[0]);
  return unit > 0x1p-100 && unit < 0x1p100 && same_constants(before->input(1), node.input(1)) &&
         same_constants(before->input(2), node.input(2)) && same_sizes(*before->input(0), *node.output(0));
}

// The input that the node yields; null: none.
Value* yielded_by(const Node& node) {
  if (is_identity(node)) return node.input(0);
  if (chooses_last(node)) return node.input(2);
  return quantizes_again(node) ? node.input(0)->producer()->input(0) : nullptr;
}

// The function bodies of ONNX hold many of them, as exporters write them.
bool becomes_cast(Node& node) {
  if (!node.domain.empty() || node.op != "CastLike" || node.input(1) == nullptr ||
      !node.input(1)->type.is_tensor() || node.input(1)->type.tensor.element == ElementType::kUndefined)
    return false;
  constexpr int64_t kCast = 13, kBothChange = 19;  // versions: from then on the two change together
  node.op = "Cast";
  node.version = node.version < kBothChange ? kCast : node.version;
  node.attributes["to"] = Attribute(static_cast<int64_t>(node.input(1)->type.tensor.element));
  node.inputs.resize(1);
  return true;
}

// Nodes that become neighbours may be such again.
int remove_in(Graph& graph) {
  int removed = 0;
  for (const auto& node : graph.nodes()) removed += becomes_cast(*node) ? 1 : 0;
  for (int before = -1; before != removed;) {
    before = removed;
    std::vector<Node*> found;
    for (const auto& node : graph.nodes()) {
      if (yielded_by(*node) != nullptr) found.push_back(node.get());
    }
    Rewriter rewriter(graph);
    for (Node* node : found) removed += rewriter.forward(node, yielded_by(*node)) ? 1 : 0;
  }
  return removed;
}

}  // namespace

Pass remove_identities() {
  return {"remove-identities", NumericalClass::kExact, [](Graph& graph) {
            int removed = 0;
            for_each_graph(graph, [&](Graph& inner) { removed += remove_in(inner); });
            return removed;
          }};
}

}  // namespace vernier
