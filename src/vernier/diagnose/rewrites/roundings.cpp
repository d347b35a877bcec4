#include <cmath>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

Value* truncated(Replacement& node, Value* value) {
  return node("Mul", {node("Sign", {value}), node("Floor", {node("Abs", {value})})});
}

// Round goes to the even one of two that are as near: what Floor(x + 1/2) makes, less 1 where that is odd and
// x lay in the middle.
bool write_round(Replacement& node) {
  const ElementType type = node.type();
  Value* x = node.input(0);
  Value* moved = node("Add", {x, node.scalar(0.5)});
  Value* up = node("Floor", {moved});
  Value* tie = node.cast(node("Equal", {moved, up}), type);
  Value* half = node("Mul", {up, node.scalar(0.5)});
  Value* odd = node("Mul", {node("Sub", {half, node("Floor", {half})}), node.scalar(2)});
  node("Sub", {up, node("Mul", {tie, odd})});
  return true;
}

// To unsigned bytes from whole numbers: what a byte holds of them.
bool write_cast(Replacement& node) {
  const Node& own = node.node();
  const auto to = static_cast<ElementType>(own.attribute<int64_t>("to", {}));
  if (is_float(node.type()) && !is_float(to) && to != ElementType::kBool) {
    node.copy({truncated(node, node.input(0))});
    return true;
  }
  const bool is_wide = node.type() == ElementType::kInt32 || node.type() == ElementType::kInt64;
  if (!is_wide || to != ElementType::kUint8) return false;
  constexpr double kByte = 256;
  node.copy({node("Mod", {node.input(0), node.scalar(kByte)})});
  return true;
}

// A remainder has the sign of the divisor: what is left by division towards zero, and once the divisor more
// where it has the other sign.
bool write_remainder(Replacement& node) {
  Value *a = node.input(0), *b = node.input(1);
  Value* left = node("Sub", {a, node("Mul", {node("Div", {a, b}), b})});
  Value* zero = node.scalar(0);
  Value* other_sign = node("Less", {node("Mul", {node("Sign", {left}), node("Sign", {b})}), zero});
  node("Add", {left, node("Mul", {node.cast(other_sign, node.type()), b})});
  return true;
}

// Towards zero, by division of what is not negative.
bool write_quotient(Replacement& node) {
  Value *a = node.input(0), *b = node.input(1);
  Value* sign = node("Mul", {node("Sign", {a}), node("Sign", {b})});
  node("Mul", {sign, node("Div", {node("Abs", {a}), node("Abs", {b})})});
  return true;
}

constexpr int kFloatBits = 24;

}  // namespace

bool write_rounding(Replacement& node) {
  const Node& own = node.node();
  if (own.op == "Round" && is_float(node.type())) return write_round(node);
  const bool is_signed = node.type() == ElementType::kInt64 || node.type() == ElementType::kInt32;
  if (own.op == "Mod" && is_signed && ops::integer_attribute(own, "fmod") == 0) return write_remainder(node);
  if (own.op == "Div" && is_signed) return write_quotient(node);
  return own.op == "Cast" && write_cast(node);
}

// By Veltkamp's product: what is left of x * (2^s + 1) less the difference to x has s bits fewer than x.
bool write_cast_pair(Replacement& node) {
  const Node& back = node.node();
  const Node* there = back.op == "Cast" ? back.input(0)->producer() : nullptr;
  if (there == nullptr || there->op != "Cast" || !there->domain.empty()) return false;
  Value* x = there->input(0);
  const ElementType wide = x->type.tensor.element, narrow = back.input(0)->type.tensor.element;
  if (wide != ElementType::kFloat || back.output(0)->type.tensor.element != wide) return false;
  if (narrow == ElementType::kInt32 || narrow == ElementType::kInt64 || narrow == ElementType::kUint8 ||
      narrow == ElementType::kInt8) {
    truncated(node, x);
    return true;
  }
  if (narrow != ElementType::kFloat16 && narrow != ElementType::kBFloat16) return false;
  const int bits = narrow == ElementType::kFloat16 ? 11 : 8;
  Value* large = node("Mul", {x, node.scalar(std::ldexp(1.0, kFloatBits - bits) + 1, wide)});
  node("Sub", {large, node("Sub", {large, x})});
  return true;
}

bool keep_nan(Replacement& node) {
  const Node& own = node.node();
  static const std::set<std::string> pointwise = {"Clip", "Relu", "LeakyRelu",  "Max",
                                                  "Min",  "Elu",  "HardSigmoid"};
  if (!own.domain.empty() || !pointwise.contains(own.op) || !is_float(node.type())) return false;
  std::vector<Value*> operands(own.inputs);
  Value* result = node.copy(operands);
  for (Value* operand : operands) {
    if (operand == nullptr || constant_of(operand) != nullptr || operand->type.tensor.element != node.type())
      continue;
    result = node("Where", {node("IsNaN", {operand}), operand, result});
  }
  return true;
}

}  // namespace vernier
