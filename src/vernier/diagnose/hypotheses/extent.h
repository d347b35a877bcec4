// Which part of a result is wrong, where the rest is right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct CausePart {
  // Indices of one axis, in order; without an axis the part is the last elements as they lie in memory.
  std::optional<size_t> axis;
  std::vector<int64_t> indices;
  int64_t of = 0;           // of how many
  std::vector<bool> wrong;  // by element

  size_t count() const;      // of the elements that are wrong
  std::string text() const;  // "the last 3 of 16 places along axis 1"
};

// Nothing where all is right or wrong, or the wrong elements are scattered: of those that `changes` says
// would be others, nearly all in a part are wrong.
std::optional<CausePart> extent_of(const Dims& dims, const std::vector<bool>& wrong,
                                   const std::vector<bool>& changes);

// Whether that may be, whatever changes: some place along an axis is right as a whole, or all that comes
// first.
bool may_be_part(const Dims& dims, const std::vector<bool>& wrong);

}  // namespace vernier
