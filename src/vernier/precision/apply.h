#pragma once

#include "vernier/passes/pass.h"
#include "vernier/precision/plan.h"

namespace vernier {

// "apply-precision": gives every f32 node the types that the plan says, with Casts, and with QuantizeLinear
// and DequantizeLinear around what int8 reads. Inputs and outputs of the graph, and what regions read from
// around them, keep their types. The result means, Cast by Cast, what an engine by this plan computes.
Pass apply_precision(PrecisionPlan plan);

}  // namespace vernier
