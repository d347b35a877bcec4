// The decomposed attention that exporters write: softmax(softcap(scale * Q * K^T) + mask) * V.
#pragma once

#include "vernier/passes/match.h"

namespace vernier {

// A value seen as heads: [batch, heads, rows, size].
struct HeadsView {
  Value* value = nullptr;  // its elements, in this order, are those of `dims`
  // Set where `value` is transposed first: the product reads K^T, and this is the way from `value` to K.
  std::vector<int64_t> order = {};
  Shape dims;
};

struct AttentionMatch {
  HeadsView q, k, v;
  double scale = 1, softcap = 0;
  bool guarded = false;  // weights that are NaN, of rows that may attend nothing, become zeros
  // Holds what is done to the scores, last first: scores + mask, or Where(condition, scores, mask) with a
  // number that forbids; negated for the other order.
  struct Edit {
    Value* mask;
    Value* condition = nullptr;
    bool negated = false;
    bool folded = false;  // the scores are [batch * heads, rows, keys] there, else of four axes
  };
  std::vector<Edit> edits;
  std::vector<Node*> members;  // the last makes the result
  // Holds the ONNX nodes that the attention computes, too, but that stay for others who read them: the scale
  // of an operand and what transposes the keys.
  Provenance around;
};

// The pattern whose product with the values is `node`.
std::optional<AttentionMatch> match_attention(Node* node);

// Far below every score: what scores of this much or less weigh is 0.
inline constexpr double kForbiddenScore = -1e30;

// Whether the edit is constant, lets every query attend the keys up to its own place, and forbids the others,
// by at most `most`; `scores` are the sizes of the scores. A condition without a mask forbids for certain.
bool is_causal(const AttentionMatch::Edit& edit, const Shape& scores, double most);

}  // namespace vernier
