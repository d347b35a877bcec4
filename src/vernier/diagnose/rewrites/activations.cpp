#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// value < 0 ? below : value
Value* where_negative(Replacement& node, Value* value, Value* below) {
  return node("Where", {node("Less", {value, node.scalar(0)}), below, value});
}

bool write_hard(Replacement& node, double alpha, double beta) {
  Value* line = node("Add", {node("Mul", {node.input(0), node.scalar(alpha)}), node.scalar(beta)});
  node("Max", {node.scalar(0), node("Min", {node.scalar(1), line})});
  return true;
}

}  // namespace

bool write_activation(Replacement& node) {
  const Node& own = node.node();
  if (!is_float(node.type())) return false;
  Value* x = own.input(0);
  if (own.op == "Relu") {
    where_negative(node, x, node.scalar(0));
  } else if (own.op == "LeakyRelu") {
    where_negative(node, x, node("Mul", {x, node.scalar(ops::real_attribute(own, "alpha"))}));
  } else if (own.op == "PRelu") {
    where_negative(node, x, node("Mul", {x, own.input(1)}));
  } else if (own.op == "Elu") {
    Value* below = node("Min", {x, node.scalar(0)});  // the exponential of a large number is infinite
    Value* power = node("Sub", {node("Exp", {below}), node.scalar(1)});
    where_negative(node, x, node("Mul", {power, node.scalar(ops::real_attribute(own, "alpha"))}));
  } else if (own.op == "Sigmoid") {
    Value* power = node("Exp", {node("Neg", {x})});
    node("Div", {node.scalar(1), node("Add", {power, node.scalar(1)})});
  } else if (own.op == "HardSigmoid") {
    return write_hard(node, ops::real_attribute(own, "alpha"), ops::real_attribute(own, "beta"));
  } else if (own.op == "HardSwish") {
    constexpr double kSixth = 1.0 / 6;
    write_hard(node, kSixth, 0.5);
    Value* gate = node.last().outputs[0];
    node("Mul", {x, gate});
  } else {
    return false;
  }
  return true;
}

bool write_clip(Replacement& node) {
  const Node& clip = node.node();
  if (clip.op != "Clip") return false;
  const auto bound = [&](size_t index, const char* attribute) -> Value* {
    if (Value* given = clip.input(index); given != nullptr) return given;
    const Attribute* held = clip.find_attribute(attribute);
    return held == nullptr ? nullptr : node.scalar(held->get<float>());
  };
  Value* low = bound(1, "min");
  Value* high = bound(2, "max");
  if (low == nullptr && high == nullptr) return false;
  Value* result = clip.input(0);
  if (low != nullptr) result = node("Max", {result, low});
  if (high != nullptr) node("Min", {result, high});
  return true;
}

}  // namespace vernier
