// Sizes for the symbolic dimensions of a model that nobody gave sizes.
#pragma once

#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Assignments of the symbols of the inputs, in the order in which to try them: where an operator refuses one
// as it runs, the next may do.
using SizeAttempts = std::vector<SymbolValues>;

// Up to four choices: the smallest sizes, usual ones, large ones and odd ones, as the meaning of each axis
// (batch, sequence, image side) suggests; only those under which no value of the graph would have a dimension
// below 1, and, if there is one, whose work is bearable. One empty assignment if there are no symbols.
// Neither the list nor one of its lists is empty.
std::vector<SizeAttempts> shape_choices(const Model& model);

}  // namespace vernier
