#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

Value* reciprocal(Replacement& node, Value* value) {
  const Tensor* held = constant_of(value);
  if (held == nullptr) return node("Reciprocal", {value});
  auto values = held->to_doubles();
  for (double& each : values) each = 1 / each;
  return node.constant(Tensor::from_doubles(held->type(), held->dims(), values));
}

// Adds one number for each channel, which is axis 1, or the last one.
void add_bias(Replacement& node, Value* product, Value* bias, size_t rank) {
  if (rank > 2) {
    std::vector<int64_t> sizes(rank - 1, 1);
    sizes[0] = -1;
    bias = node.reshape(bias, sizes);
  }
  node("Add", {product, bias});
}

bool write_gemm(Replacement& node) {
  const Node& gemm = node.node();
  const auto scaled = [&](Value* value, float factor) {
    return factor == 1 ? value : node("Mul", {value, node.scalar(factor)});
  };
  const auto turned = [&](size_t index, const char* flag) {
    Value* value = gemm.input(index);
    return ops::integer_attribute(gemm, flag) != 0 ? node.transpose(value, {1, 0}) : value;
  };
  Value* product = node("MatMul", {turned(0, "transA"), turned(1, "transB")});
  product = scaled(product, ops::real_attribute(gemm, "alpha"));
  if (gemm.input(2) != nullptr)
    node("Add", {product, scaled(gemm.input(2), ops::real_attribute(gemm, "beta"))});
  return true;
}

}  // namespace

bool write_arithmetic(Replacement& node) {
  const Node& own = node.node();
  if (own.inputs.size() != 2) return false;
  Value *a = own.input(0), *b = own.input(1);
  if (own.op == "Add") {
    node("Sub", {a, node("Neg", {b})});
  } else if (own.op == "Sub") {
    node("Add", {a, node("Neg", {b})});
  } else if (own.op == "Mul" && is_float(node.type())) {
    // One of them is turned over, best the one that is known: a product with zero is zero then, too.
    const bool first = constant_of(a) != nullptr && constant_of(b) == nullptr;
    node("Div", {first ? b : a, reciprocal(node, first ? a : b)});
  } else if (own.op == "Div" && is_float(node.type())) {
    node("Mul", {a, reciprocal(node, b)});
  } else {
    return false;
  }
  return true;
}

bool write_bias(Replacement& node) {
  const Node& own = node.node();
  if (own.op == "Gemm") return write_gemm(node);
  const auto rank = own.output(0) == nullptr ? std::nullopt : known_rank(*own.output(0));
  if (own.op != "Conv" || own.input(2) == nullptr || !rank) return false;
  add_bias(node, node.copy({own.input(0), own.input(1)}), own.input(2), *rank);
  return true;
}

}  // namespace vernier
