// Sizes for the symbolic dimensions of a model that nobody gave sizes.
#pragma once

#include <string>
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

// Symbols that operators want to be the sum of two others, which no name tells. Internal to the room.

// As the columns of a mask are those of a cache and of the rows behind it.
struct SizeSum {
  std::string total, first, second;

  void apply(SymbolValues& symbols) const { symbols[total] = symbols.at(first) + symbols.at(second); }
};

// Finds the sums without which inference refuses the model at the sizes `usual`, and with which it does not.
// `symbols` are the ones that may be part of a sum; of fewer than three, or of too many to try, there is
// none.
std::vector<SizeSum> size_sums(const Model& model, const SymbolValues& usual,
                               const std::vector<std::string>& symbols);

}  // namespace vernier
