#include "vernier/cli/verbs/report_steps.h"

namespace vernier {

std::vector<BuildReport::Step> report_steps(const std::vector<StepDescription>& steps) {
  std::vector<BuildReport::Step> result;
  result.reserve(steps.size());
  for (const StepDescription& step : steps)
    result.push_back(
        {step.kernel, step.reason, step.nodes, step.contract, step.device, step.refusal, step.copied});
  return result;
}

}  // namespace vernier
