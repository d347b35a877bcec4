// Reads from a plan what its steps do to the numbers.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/precision/audit.h"

namespace vernier {

// Says what keeps a kernel from computing a node, or the nodes of a group, as the plan asks, for the first
// ONNX node where it differs; "": nothing. `stored` are the types of its outputs. `nodes` are those of the
// ONNX model.
std::string kernel_difference(const Node& node, const Kernel& kernel, const std::vector<ElementType>& stored,
                              const PrecisionPlan& requested, const std::set<std::string>& nodes);

// `nodes` are the ONNX nodes to account for.
PrecisionAudit audit_precision(const Plan& plan, const PrecisionPlan& requested,
                               const std::set<std::string>& nodes);

}  // namespace vernier
