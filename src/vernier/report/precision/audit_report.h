// What an engine computes in, against its plan, as text and as JSON.
#pragma once

#include <string>

#include "vernier/precision/audit.h"

namespace vernier {

// A summary, then the nodes that differ, then the others, as many rows as asked for.
std::string audit_text(const PrecisionAudit& audit, size_t max_rows);
// Schema "vernier-audit", version 1.
std::string audit_json(const PrecisionAudit& audit);

}  // namespace vernier
