#pragma once

#include "vernier/precision/plan.h"

namespace vernier {

// The plan for a rewritten model. A node that stands in the place of another one, "clip~Max", is computed in
// what that one was, and a node that is new in float; nodes that are gone are left out.
PrecisionPlan carried_plan(const PrecisionPlan& plan, const Graph& rewritten);

}  // namespace vernier
