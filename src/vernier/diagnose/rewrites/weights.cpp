// Rows of weights that are too small for fp16: larger by powers of two, and what follows smaller by the same.
#include <cmath>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

constexpr double kLeastNormal = 0x1p-14, kGoal = 0.25;

// By output channel, axis 0 of a Conv: the power of two with which its largest weight is near kGoal; 1 where
// it is not small.
std::vector<double> factors_of(const Tensor& weights) {
  const auto rows = static_cast<size_t>(weights.dims()[0]);
  const auto values = weights.to_doubles();
  const size_t length = values.size() / std::max<size_t>(1, rows);
  std::vector<double> factors(rows, 1);
  for (size_t i = 0; i < rows; ++i) {
    double most = 0;
    for (size_t j = 0; j < length; ++j) most = std::max(most, std::abs(values[i * length + j]));
    constexpr double kSmall = 16 * kLeastNormal;
    if (most > 0 && most < kSmall)
      factors[i] = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(kGoal / most))));
  }
  return factors;
}

// `values` seen as [outer, factors, inner].
Tensor scaled(const Tensor& tensor, size_t axis, const std::vector<double>& factors, bool inverse) {
  auto values = tensor.to_doubles();
  size_t inner = 1;
  for (size_t i = axis + 1; i < tensor.dims().size(); ++i) inner *= static_cast<size_t>(tensor.dims()[i]);
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = factors[i / inner % factors.size()];
    values[i] *= inverse ? 1 / factor : factor;
  }
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

void set_operand(Model& model, Node& node, size_t index, Tensor tensor) {
  node.inputs[index] =
      node.graph().add_constant(free_name(*model.graph, node.name + "~constant"), std::move(tensor));
}

// Makes the linear node behind undo the factors; false where that does not have a constant for it.
bool undo(Model& model, Node& node, const Value* value, const std::vector<double>& factors) {
  const bool is_first = node.input(0) == value;
  if (node.op == "Conv" && is_first) {
    const Tensor* weights = constant_of(node.input(1));
    if (weights == nullptr || ops::integer_attribute(node, "group") != 1) return false;
    set_operand(model, node, 1, scaled(*weights, 1, factors, true));
    return true;
  }
  if (node.op == "Mul") {
    const size_t other = is_first ? 1 : 0;
    const Tensor* factor = constant_of(node.input(other));
    const size_t rank = known_rank(*node.input(1 - other)).value_or(0);
    if (factor == nullptr || rank < 2) return false;
    Dims dims(rank, 1);
    dims[1] = static_cast<int64_t>(factors.size());
    if (factor->size() != 1 && factor->size() != dims[1]) return false;
    auto values = factor->to_doubles();
    values.resize(factors.size(), values[0]);
    set_operand(model, node, other,
                scaled(Tensor::from_doubles(factor->type(), dims, values), 1, factors, true));
    return true;
  }
  return false;
}

bool scale_up(Model& model, Node& conv) {
  const Tensor* weights = constant_of(conv.input(1));
  if (weights == nullptr) return false;
  const auto factors = factors_of(*weights);
  if (std::all_of(factors.begin(), factors.end(), [](double factor) { return factor == 1; })) return false;
  // Through what keeps factors that are positive, to a node that can take them back.
  static const std::set<std::string> keeping = {"Relu", "LeakyRelu", "MaxPool", "AveragePool", "Identity"};
  const Uses uses(conv.graph());
  const Value* value = conv.output(0);
  Node* next = uses.only_reader(value);
  while (next != nullptr && keeping.contains(next->op)) {
    value = next->output(0);
    next = uses.only_reader(value);
  }
  if (next == nullptr || !undo(model, *next, value, factors)) return false;
  set_operand(model, conv, 1, scaled(*weights, 0, factors, false));
  if (const Tensor* bias = constant_of(conv.input(2)))
    set_operand(model, conv, 2, scaled(*bias, 0, factors, false));
  return true;
}

}  // namespace

bool scale_up_weights(Model& model, const std::vector<std::string>& nodes) {
  bool changed = false;
  for (Node* node : nodes_of(model, nodes, {"Conv"})) changed = scale_up(model, *node) || changed;
  return changed;
}

}  // namespace vernier
