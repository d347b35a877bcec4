#include "vernier/calibrate/weights/layer_weights.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"
#include "vernier/precision/quantized_weights.h"
#include "vernier/precision/ranged_values.h"

namespace vernier {

namespace {

bool is_constant_float(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant->type() == ElementType::kFloat;
}

// A matrix whose rows count what is summed, as MatMul has it.
bool is_transposed(const Node& node) {
  return node.op != "Conv" && output_axis(node, 2) == 1;
}

std::vector<double> transposed(const std::vector<double>& values, size_t rows, size_t columns) {
  std::vector<double> result(values.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  }
  return result;
}

bool has_bias_input(const Node& node) {
  return node.op == "Conv" || (node.op == "Gemm" && ops::real_attribute(node, "alpha") == 1 &&
                               ops::real_attribute(node, "beta") == 1);
}

// Tells whether this is added to each row of a result: a vector with one element for each output.
bool is_bias(const Value* value, size_t outputs) {
  return is_constant_float(value) && value->constant->rank() == 1 &&
         value->constant->size() == static_cast<int64_t>(outputs);
}

void find_bias(LayerWeights& layer, const Uses& uses) {
  Node& node = *layer.node;
  if (has_bias_input(node)) {
    const Value* bias = node.input(2);
    if (bias != nullptr && !is_bias(bias, layer.outputs)) return;
    layer.bias_node = &node, layer.bias_input = 2;
    layer.bias = bias == nullptr ? std::vector<double>(layer.outputs) : bias->constant->to_doubles();
    return;
  }
  Node* next = node.op == "MatMul" ? uses.only_reader(node.output(0)) : nullptr;
  if (next == nullptr || next->op != "Add" || !next->domain.empty()) return;
  const size_t other = next->input(0) == node.output(0) ? 1 : 0;
  if (!is_bias(next->input(other), layer.outputs)) return;
  layer.bias_node = next, layer.bias_input = other;
  layer.bias = next->input(other)->constant->to_doubles();
}

void set_input(Node& node, size_t input, const std::string& name, Tensor content) {
  Graph& graph = node.graph();
  node.inputs.resize(std::max(node.inputs.size(), input + 1));
  node.inputs[input] = graph.add_constant(free_name(graph, name), std::move(content));
}

}  // namespace

const Value* LayerWeights::result() const {
  return (bias_node != nullptr ? bias_node : node)->output(0);
}

std::optional<LayerWeights> layer_weights(Node& node, const Uses& uses) {
  if (ranged_inputs(node).size() != 1 || !is_constant_float(node.input(1))) return std::nullopt;
  const Tensor& weights = *node.input(1)->constant;
  const bool matrix = node.op != "Conv";
  if (weights.size() == 0 || (matrix && weights.rank() != 2) ||
      (node.op == "Gemm" && ops::integer_attribute(node, "transA") != 0))
    return std::nullopt;
  LayerWeights layer;
  layer.node = &node;
  layer.outputs = static_cast<size_t>(weights.dims()[is_transposed(node) ? 1 : 0]);
  layer.depth = static_cast<size_t>(weights.size()) / layer.outputs;
  layer.groups = matrix ? 1 : static_cast<size_t>(ops::integer_attribute(node, "group"));
  layer.rows = weights.to_doubles();
  if (std::any_of(layer.rows.begin(), layer.rows.end(), [](double value) { return !std::isfinite(value); }))
    return std::nullopt;
  if (is_transposed(node)) layer.rows = transposed(layer.rows, layer.depth, layer.outputs);
  find_bias(layer, uses);
  return layer;
}

std::vector<LayerWeights> layers_of(Graph& graph) {
  const Uses uses(graph);
  std::vector<LayerWeights> layers;
  for (const auto& node : graph.nodes()) {
    if (auto layer = layer_weights(*node, uses)) layers.push_back(std::move(*layer));
  }
  return layers;
}

void store_weights(const LayerWeights& layer) {
  Node& node = *layer.node;
  const Value* old = node.input(1);
  const auto values = is_transposed(node) ? transposed(layer.rows, layer.outputs, layer.depth) : layer.rows;
  set_input(node, 1, old->name + "/adapted",
            Tensor::from_doubles(ElementType::kFloat, old->constant->dims(), values));
}

void store_bias(const LayerWeights& layer) {
  set_input(*layer.bias_node, layer.bias_input, layer.node->name + "/bias",
            Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(layer.outputs)}, layer.bias));
}

}  // namespace vernier
