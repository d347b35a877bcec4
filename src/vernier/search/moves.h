// Steps from wide types to narrower ones, those first that gain most for their error.
#pragma once

#include "vernier/search/prober.h"

namespace vernier {

// Holds the effect of lowering one unit alone.
struct UnitSensitivity {
  size_t unit = 0;
  ElementType type = ElementType::kFloat;
  double gain_ms = 0;  // of the step times of whole engines
  double error = 0;    // see PlanScore, on the screening data
};

struct TypeMove {
  size_t unit = 0;
  ElementType from = ElementType::kFloat, to = ElementType::kFloat;
  double gain_ms = 0;
  double squared_error = 0;  // that it adds: independent errors add up as squares
};

// Milliseconds that a unit gains in a type by step times; 0 where it gains nothing beyond what step times are
// good for, and where the type was not timed.
double gain_of(const UnitTimes& times, size_t unit, ElementType type);

// For each unit the chain of types that are worth their errors (the concave hull of gain over squared error),
// all chains together by gain for error. Within a chain the order is that of the chain. What has no finite
// error is in none.
std::vector<TypeMove> moves_of(const std::vector<UnitSensitivity>& sensitivities);

// The assignment that should gain most, if errors were independent.

// Chooses for each of `units` units at most one of its types, such that the squares of their errors add up to
// at most `room` and their gains to the most (a multiple-choice knapsack, by branch and bound). Beyond some
// ten thousand branches it is the best that was found.
TypeAssignment best_moves(const std::vector<UnitSensitivity>& sensitivities, size_t units, double room);

}  // namespace vernier
