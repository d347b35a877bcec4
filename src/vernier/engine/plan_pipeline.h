// The passes of a plan, in order: once for each plan, with all sizes known.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/passes/pass.h"

namespace vernier {

std::vector<Pass> plan_pipeline(const GroupTraits& traits);

}  // namespace vernier
