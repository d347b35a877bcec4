#include "vernier/ops/exact_sums.h"

#include <algorithm>
#include <cmath>

#include "vernier/numeric/ulp.h"
#include "vernier/ops/evaluate.h"

namespace vernier::ops {

namespace {

template <class T>
bool are_whole(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(),
                     [](T value) { return std::isfinite(value) && value == std::trunc(value); });
}

// Most tensors are told by their first elements.
bool holds_whole_numbers(const Tensor& tensor) {
  if (tensor.type() == ElementType::kFloat) return are_whole(tensor.values<float>());
  if (tensor.type() == ElementType::kDouble) return are_whole(tensor.values<double>());
  if (!is_float(tensor.type())) return true;
  const auto values = tensor.to_doubles();
  return are_whole(std::span<const double>(values));
}

Tensor magnitudes_of(const Tensor& tensor) {
  auto values = tensor.to_doubles();
  for (double& value : values) value = std::abs(value);
  return Tensor::from_doubles(ElementType::kDouble, tensor.dims(), values);
}

}  // namespace

bool sums_exactly(const Node& node, const std::vector<const Tensor*>& operands,
                  const std::vector<ElementType>& declared, ElementType accumulator) {
  const auto format = float_format(accumulator);
  const bool whole = std::all_of(operands.begin(), operands.end(), [](const Tensor* operand) {
    return operand == nullptr || holds_whole_numbers(*operand);
  });
  if (!format || !whole) return false;
  std::vector<Tensor> magnitudes(operands.size());
  std::vector<const Tensor*> given = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr || !is_float(operands[i]->type())) continue;
    magnitudes[i] = magnitudes_of(*operands[i]);
    given[i] = &magnitudes[i];
  }
  const auto sums = evaluate(node, given, ReferenceMode::kIdeal, declared).at(0).tensor.to_doubles();
  const double most = std::ldexp(1, format->mantissa_bits + 1);
  return std::all_of(sums.begin(), sums.end(), [&](double sum) { return std::abs(sum) <= most; });
}

}  // namespace vernier::ops
