// The limit of working memory that a user sets (`--workspace`).
#pragma once

#include "vernier/engine/sizes/shape_profile.h"
#include "vernier/exec/plan.h"

namespace vernier {

// "64" and "64MiB": 64 * 2^20 bytes; also B, KiB and GiB. Throws usage_error.
size_t parse_workspace(std::string_view text);

// Throws unsupported where the arena of the plan, which holds values and the working memory of kernels, is
// larger than `limit`: how much is needed, for which sizes and profile, where the most is, and what helps.
// 0: no limit.
void require_workspace(const Plan& plan, size_t limit, const std::vector<ShapeProfile>& profiles);

}  // namespace vernier
