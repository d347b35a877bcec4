// The assignment that should gain most, if errors were independent.
#pragma once

#include "vernier/search/moves.h"

namespace vernier {

// Of each of `units` units at most one of its types, such that the squares of their errors sum up to at most
// `room` and their gains to the most (a multiple-choice knapsack, by branch and bound). Beyond some ten
// thousand branches it is the best that was found.
TypeAssignment best_bargains(const std::vector<UnitSensitivity>& sensitivities, size_t units, double room);

}  // namespace vernier
