// Finds what a decision could have been, where nobody shows what it was.
#pragma once

#include "vernier/run/ties.h"

namespace vernier {

// A change of a decision's result.
struct Flip {
  struct Edit {
    int64_t to = 0;               // element of the result
    std::optional<int64_t> from;  // element of the result as it was, whose content it gets
    double value = 0;             // else what it gets
  };
  std::vector<Edit> edits;
  double margin = 0;  // between the two values that it is about
};

// The changes of `result`, each by itself, that a margin within the error allows: neighbours in an order that
// change places, the last that is selected and the first that is not, the second largest index, the other
// side of a rounding or comparison. The smallest margins first, `most` at most. Of NonMaxSuppression, only
// the order.
std::vector<Flip> near_ties(const Node& node, const std::vector<std::optional<DecisionInput>>& operands,
                            const Tensor& result, size_t most);

Tensor flipped(const Tensor& result, const Flip& flip);

}  // namespace vernier
