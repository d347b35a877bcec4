#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

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
