// Contractions with constant weights, seen as matrices that may be changed.
#pragma once

#include <optional>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/passes/uses.h"

namespace vernier {

// Describes the weights of a Conv, MatMul or Gemm of floats in the main graph.
struct LayerWeights {
  Node* node = nullptr;
  size_t outputs = 0, depth = 0, groups = 1;  // depth: how many products one output sums up
  std::vector<double> rows;                   // [outputs, depth], whatever the order of the tensor is
  // Where the bias is: the node itself, or the Add behind a MatMul; null where there is none and none can be
  // given without another node.
  Node* bias_node = nullptr;
  size_t bias_input = 0;
  std::vector<double> bias;  // [outputs]; zeros where the node has none yet, empty without a place for it

  double* row(size_t output) { return rows.data() + output * depth; }
  const double* row(size_t output) const { return rows.data() + output * depth; }
  // The value that the layer makes: the sums with their bias.
  const Value* result() const;
};

// Nothing where the weights are not known, not floats, or not finite.
std::optional<LayerWeights> layer_weights(Node& node, const Uses& uses);
// All of the main graph, in its order.
std::vector<LayerWeights> layers_of(Graph& graph);

// Gives the nodes constants of their own with these weights, or this bias.
void store_weights(const LayerWeights& layer);
void store_bias(const LayerWeights& layer);

}  // namespace vernier
