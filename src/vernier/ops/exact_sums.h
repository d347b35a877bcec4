#pragma once

#include "vernier/ir/graph.h"
#include "vernier/tensor/tensor.h"

namespace vernier::ops {

// Whether a node that sums (kSums) rounds no partial sum, in whatever order it takes them: all floats that it
// reads are whole numbers, and the accumulator holds the largest sum of their magnitudes. `operands` in the
// order of the node's, null where one is left out, stored as they are or as double; `declared` their types.
bool sums_exactly(const Node& node, const std::vector<const Tensor*>& operands,
                  const std::vector<ElementType>& declared, ElementType accumulator);

}  // namespace vernier::ops
