// Sizes for the symbolic dimensions of a model that nobody gave sizes.
#pragma once

#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Up to four assignments of the symbols of the inputs: the smallest sizes, usual ones, large ones and odd
// ones, as the meaning of each axis (batch, sequence, image side) suggests; only those under which no value
// of the graph would have a dimension below 1. One empty assignment if there are no symbols. Never empty.
std::vector<SymbolValues> shape_choices(const Model& model);

}  // namespace vernier
