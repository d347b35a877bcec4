// Operators that move elements: the same movement takes their errors along.
#include <algorithm>

#include "vernier/error_analysis/node_rules.h"

namespace vernier {

namespace {

// Errors as what is moved is stored: as double, or, of integers and flags, as a mark where there is one.
Tensor errors_as(const ElementErrors& operand) {
  const ElementType type = operand.value.type();
  if (is_float(type)) {
    if (operand.is_exact()) return Tensor(ElementType::kDouble, operand.value.dims());
    return Tensor::from_doubles(ElementType::kDouble, operand.value.dims(), operand.error);
  }
  std::vector<double> marks(static_cast<size_t>(operand.value.size()), 0);
  for (size_t i = 0; i < operand.error.size(); ++i) marks[i] = operand.error[i] > 0 ? 1 : 0;
  return Tensor::from_doubles(type, operand.value.dims(), marks);
}

}  // namespace

std::vector<std::vector<double>> copied_errors(const AnalysedNode& node) {
  if (node.is_exact()) return std::vector<std::vector<double>>(node.out.size());
  // Moved operands have the type of the result; indices, sizes and flags that steer have others, or no
  // errors.
  const ElementType moved_type = node.node.output(0)->type.tensor.element;
  std::vector<Tensor> errors(node.in.size());
  std::vector<const Tensor*> operands(node.in.size(), nullptr);
  double largest = 0;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const bool moves = node.has(i) && node.node.inputs[i]->type.tensor.element == moved_type &&
                       (is_float(moved_type) || !node.in[i]->is_exact());
    if (!moves) continue;
    errors[i] = errors_as(*node.in[i]);
    operands[i] = &errors[i];
    for (const double error : node.in[i]->error) largest = std::max(largest, error);
  }
  std::vector<std::vector<double>> result;
  for (const Tensor& moved : node.evaluate(operands)) {
    result.push_back(moved.is_defined() ? moved.to_doubles() : std::vector<double>());
    if (is_float(moved_type)) continue;
    for (double& error : result.back()) error *= largest;
  }
  return result;
}

}  // namespace vernier
