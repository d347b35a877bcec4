// Symbols that operators want to be the sum of two others, which no name tells. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// As the columns of a mask are those of a cache and of the rows behind it.
struct SizeSum {
  std::string total, first, second;

  void apply(SymbolValues& symbols) const { symbols[total] = symbols.at(first) + symbols.at(second); }
};

// Those without which inference refuses the model at the sizes `usual`, and with which it does not. `symbols`
// are the ones that may be part of a sum; of fewer than three, or of too many to try, there is none.
std::vector<SizeSum> size_sums(const Model& model, const SymbolValues& usual,
                               const std::vector<std::string>& symbols);

}  // namespace vernier
