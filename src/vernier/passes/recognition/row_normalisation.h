// The decomposed normalisation of rows that exporters write: (x - mean) / sqrt(variance + epsilon) * scale +
// bias, or without the mean.
#pragma once

#include "vernier/passes/match.h"

namespace vernier {

struct RowNormalisation {
  Value* x = nullptr;
  Value *scale = nullptr, *bias = nullptr;  // null: none
  int64_t axis = 0;                         // of a row's first axis
  double epsilon = 0;
  std::vector<Node*> members;  // in no order, but the last one makes the result
};

// The pattern whose Div or Mul by the deviation is `node`, with scale and bias as far as they follow.
std::optional<RowNormalisation> match_row_normalisation(Node* node, const Uses& uses, bool centred);

// Replaces every one by `op`; gives their number.
int recognise_row_normalisations(Graph& graph, bool centred, const std::string& op, int64_t version);

}  // namespace vernier
