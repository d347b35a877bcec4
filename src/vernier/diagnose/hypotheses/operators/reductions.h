// Which indices an operator sums over, or searches: products, convolutions, reductions and attention alike.
#pragma once

#include "vernier/diagnose/causes/member.h"

namespace vernier {

// An index that is reduced: the axis of each operand that has it, all of which are as long.
struct ReducedIndex {
  std::vector<std::pair<size_t, size_t>> axes;  // operand, axis
  int64_t length = 0;
  bool divides = false;  // by the length
};

// None where several axes are reduced as one, or the operator reduces nothing. Throws what attributes throw
// that do not fit the operands.
std::vector<ReducedIndex> reductions_of(const Member& member);

}  // namespace vernier
