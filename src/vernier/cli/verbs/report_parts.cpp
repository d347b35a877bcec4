#include "vernier/cli/verbs/report_parts.h"

#include "vernier/bench/statistics.h"

namespace vernier {

BenchReport::Latency in_milliseconds(const std::vector<double>& seconds) {
  Summary s = summarise(seconds);
  for (double* value : {&s.p50, &s.p90, &s.p95, &s.p99, &s.mean, &s.min, &s.max}) *value *= 1e3;
  return {s.p50, s.p90, s.p95, s.p99, s.mean, s.min, s.max, seconds.size()};
}

std::vector<BuildReport::Step> report_steps(const std::vector<StepDescription>& steps) {
  std::vector<BuildReport::Step> result;
  result.reserve(steps.size());
  for (const StepDescription& step : steps)
    result.push_back(
        {step.kernel, step.reason, step.nodes, step.contract, step.device, step.refusal, step.copied});
  return result;
}

}  // namespace vernier
