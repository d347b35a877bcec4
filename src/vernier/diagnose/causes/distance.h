#pragma once

#include "vernier/diagnose/causes/member.h"

namespace vernier {

// The root mean square of the differences between results of equal sizes, over all that both have, as far as
// they pass what rounding may do to an element: `allowed`, by result and element; empty where nothing is. A
// NaN or Inf on one side alone, or what is far beyond all that `right` holds, counts as ten times the largest
// of `right`: so any two distances from the same results can be compared. Infinite where sizes differ.
double bounded_distance(const Tensors& results, const Tensors& other, const Tensors& right,
                        const std::vector<std::vector<double>>& allowed = {});

// The same of outputs by name: all that `right` has. Infinite where one is missing.
double bounded_distance(const NamedData& results, const NamedData& other, const NamedData& right);

}  // namespace vernier
