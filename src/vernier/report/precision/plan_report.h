// Writes what `inspect` shows of precision plans.
#pragma once

#include <string>

#include "vernier/precision/audit.h"
#include "vernier/precision/plan.h"

namespace vernier {

struct NamedPlan {
  std::string file;
  PrecisionPlan plan;
};

// The types of each node, who set them, and why.
std::string plan_text(const NamedPlan& plan);
// Writes the differences of two plans, node by node.
std::string plan_diff_text(const NamedPlan& a, const NamedPlan& b);
// Schema "vernier-plan-diff", version 1.
std::string plan_diff_json(const NamedPlan& a, const NamedPlan& b);

// The next functions report what an engine computes in, against its plan, as text and as JSON.

// A summary, then the nodes that differ, then the others, as many rows as asked for.
std::string audit_text(const PrecisionAudit& audit, size_t max_rows);
// Schema "vernier-audit", version 1.
std::string audit_json(const PrecisionAudit& audit);

}  // namespace vernier
