// Attention of a quantized model: two products of bytes, and between them a softmax that is quantized.
#pragma once

#include <functional>

#include "vernier/ir/graph.h"

namespace vernier::ops {

// An operand of a product as four axes, and what is done to its bytes before.
struct QuantizedHeads {
  Value* source = nullptr;    // bytes
  Node* transpose = nullptr;  // of the source; null: none
  // After it, of every byte: DequantizeLinear, Mul or Div by a number, QuantizeLinear; or none of them.
  std::vector<Node*> requantize = {};

  Value* result() const;
};

// weighted = quantized(softmax(quantized(q * k^T) + mask)) * v; groups of DequantizeLinear, MatMul and
// QuantizeLinear make the products.
struct QuantizedAttention {
  Node *scores = nullptr, *weighted = nullptr;  // groups
  QuantizedHeads q, k, v;                       // [batch, heads, rows, size], of k [batch, heads, size, keys]
  Dims scores_dims, values_dims;                // [batch, heads, queries, keys], [batch, heads, keys, size]
  Node* add = nullptr;                          // of a mask of floats, and of what is quantized; null: none
  Value* mask = nullptr;
  Node *quantize_sum = nullptr, *quantize_weights = nullptr;
  // From the DequantizeLinear behind quantize_weights to what quantizes the weights again; null: none.
  Node *dequantize_weights = nullptr, *requantize_weights = nullptr;
  std::vector<Node*> members;  // all of these nodes, and those between; not in order
};

// The content of a value that is known; null for others.
using ContentOf = std::function<const Tensor*(const Value* value)>;

// The one whose second product is `weighted`: all sizes known, sizes of heads in fours, a scale and zero
// point for each whole tensor.
std::optional<QuantizedAttention> match_quantized_attention(Node* weighted, const ContentOf& content_of);

// A Transpose that keeps the last of four axes.
bool keeps_last_axis(const Node& transpose);

}  // namespace vernier::ops
