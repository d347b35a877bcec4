// The decomposed attention that exporters write: softmax(softcap(scale * Q * K^T) + mask) * V.
#pragma once

#include "vernier/passes/match.h"

namespace vernier {

// A value seen as heads: [batch, heads, rows, size].
struct HeadsView {
  Value* value = nullptr;  // its elements, in this order, are those of `dims`
  // Set where `value` is transposed first: the product reads K^T, and this is the way from `value` to K.
  std::vector<int64_t> order = {};
  Dims dims;
};

struct AttentionMatch {
  HeadsView q, k, v;
  double scale = 1, softcap = 0;
  // What is added to the scores, and where it broadcasts to, outermost first.
  std::vector<Value*> masks;
  // Where(condition, scores, forbidden): the condition and the number elsewhere; negated for the other order.
  struct Choice {
    Value *condition, *forbidden;
    bool negated;
  };
  std::vector<Choice> choices;
  std::vector<Node*> members;  // the last makes the result
};

// The pattern whose product with the values is `node`.
std::optional<AttentionMatch> match_attention(Node* node);

// A constant mask that lets every query see the keys up to its own place, and no others; `scores` are their
// sizes.
bool is_causal_mask(const Value* mask, const Dims& scores);

}  // namespace vernier
