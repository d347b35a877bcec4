#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

// Makes two copies of what moves integers, or casts them to floats: one for the multiples of 1024, one for
// what is left. Each has numbers that fp16 holds, as long as the whole is less than two millions.
bool split_integers(Replacement& node) {
  static const std::set<std::string> linear = {"Cast",      "Reshape",  "Transpose", "Squeeze",
                                               "Unsqueeze", "Flatten",  "Expand",    "Slice",
                                               "Gather",    "Identity", "Tile",      "GatherND"};
  const Node& own = node.node();
  const auto is_integer = [](ElementType type) {
    return type == ElementType::kInt64 || type == ElementType::kInt32;
  };
  if (!own.domain.empty() || !linear.contains(own.op) || own.outputs.size() != 1 || !is_integer(node.type()))
    return false;
  const ElementType made = own.output(0)->type.tensor.element;
  if (!is_integer(made) && made != ElementType::kFloat && made != ElementType::kDouble) return false;
  constexpr double kPart = 1024;
  Value* whole = own.input(0);
  Value* low = node("Mod", {whole, node.scalar(kPart)});
  Value* high = node("Div", {node("Sub", {whole, low}), node.scalar(kPart)});
  const auto moved = [&](Value* part) {
    std::vector<Value*> operands(own.inputs);
    operands[0] = part;
    return node.copy(operands);
  };
  Value* large = node("Mul", {moved(high), node.scalar(kPart, made)});
  node("Add", {large, moved(low)});
  return true;
}

// In floats that hold every sum of products of bytes, whatever an engine adds them up in.
bool write_integer_product(Replacement& node) {
  const Node& own = node.node();
  const auto weights = sizes_of_value(own.input(1));
  if ((own.op != "MatMulInteger" && own.op != "ConvInteger") || !weights || weights->size() < 2) return false;
  const bool is_matrix = own.op == "MatMulInteger";
  double terms = 1;
  for (size_t i = 1; i < weights->size(); ++i) terms *= static_cast<double>((*weights)[i]);
  if (is_matrix) terms = static_cast<double>((*weights)[weights->size() - 2]);
  constexpr double kOfProduct = 255.0 * 255.0, kWhole = 1 << 24;
  const ElementType type = terms * kOfProduct < kWhole ? ElementType::kFloat : ElementType::kDouble;
  const auto real = [&](size_t index, size_t zero) {
    Value* value = node.cast(own.input(index), type);
    return own.input(zero) == nullptr ? value : node("Sub", {value, node.cast(own.input(zero), type)});
  };
  Value *x = real(0, 2), *w = real(1, 3);
  Value* sums = is_matrix ? node("MatMul", {x, w}) : node("Conv", {x, w}, own.attributes);
  node.cast(sums, ElementType::kInt32);
  return true;
}

}  // namespace vernier
