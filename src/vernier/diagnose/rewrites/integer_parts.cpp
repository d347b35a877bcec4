#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

// Of what moves integers, or casts them to floats, two copies: one for the multiples of 1024, one for what is
// left. Each has numbers that fp16 holds, as long as the whole is less than two millions.
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

}  // namespace vernier
