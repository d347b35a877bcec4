#pragma once

#include "vernier/backends/reference/interpreter.h"
#include "vernier/exec/plan.h"

namespace vernier {

// Where the kernels of a plan round, as the contracts of its steps say. A step without a kernel runs as its
// nodes do.
PlannedRoundings planned_roundings(const Plan& plan);

}  // namespace vernier
