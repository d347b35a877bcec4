// Learns how sizes of inputs depend on one another, where no model says: the bodies of loops.
#pragma once

#include <optional>
#include <vector>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

// Types of which both are cases: a size that is the same in both stays, others become symbols, one for all
// that had the same two sizes, or differed from these by as much both times. That is a guess: whoever uses
// the types looks whether sizes that come later fit them. Nothing where the two differ in more than sizes.
std::optional<std::vector<ValueType>> learned_types(const std::vector<ValueType>& first,
                                                    const std::vector<ValueType>& second);

}  // namespace vernier
