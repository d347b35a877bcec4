// Reads from a plan what its steps do to the numbers.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/precision/audit.h"

namespace vernier {

// `nodes` are the ONNX nodes to account for.
PrecisionAudit audit_precision(const Plan& plan, const PrecisionPlan& requested,
                               const std::set<std::string>& nodes);

}  // namespace vernier
