// Steps of a plan as reports have them.
#pragma once

#include "vernier/engine/describe.h"
#include "vernier/report/build_report.h"

namespace vernier {

std::vector<BuildReport::Step> report_steps(const std::vector<StepDescription>& steps);

}  // namespace vernier
