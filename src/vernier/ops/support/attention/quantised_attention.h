// Attention of a quantised model: two products of bytes, and between them a softmax that is quantised.
#pragma once

#include <functional>

#include "vernier/ir/graph.h"

namespace vernier::ops {

// An operand of a product as four axes, and what is done to its bytes before.
struct QuantisedHeads {
  Value* source = nullptr;    // bytes
  Node* transpose = nullptr;  // of the source; null: none
  // After it, of every byte: DequantizeLinear, Mul or Div by a number, QuantizeLinear; or none of them.
  std::vector<Node*> requantise = {};

  Value* result() const;
};

// weighted = quantised(softmax(quantised(q * k^T) + mask)) * v; groups of DequantizeLinear, MatMul and
// QuantizeLinear make the products.
struct QuantisedAttention {
  Node *scores = nullptr, *weighted = nullptr;  // groups
  QuantisedHeads q, k, v;                       // [batch, heads, rows, size], of k [batch, heads, size, keys]
  Dims scores_dims, values_dims;                // [batch, heads, queries, keys], [batch, heads, keys, size]
  Node* add = nullptr;                          // of a mask of floats, and of what is quantised; null: none
  Value* mask = nullptr;
  Node *quantise_sum = nullptr, *quantise_weights = nullptr;
  // From the DequantizeLinear behind quantise_weights to what quantises the weights again; null: none.
  Node *dequantise_weights = nullptr, *requantise_weights = nullptr;
  std::vector<Node*> members;  // all of these nodes, and those between; not in order
};

// The content of a value that is known; null for others.
using ContentOf = std::function<const Tensor*(const Value* value)>;

// The one whose second product is `weighted`: all sizes known, sizes of heads in fours, a scale and zero
// point for each whole tensor.
std::optional<QuantisedAttention> match_quantised_attention(Node* weighted, const ContentOf& content_of);

// A Transpose that keeps the last of four axes.
bool keeps_last_axis(const Node& transpose);

}  // namespace vernier::ops
