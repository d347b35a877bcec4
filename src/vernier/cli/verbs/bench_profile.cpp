#include "vernier/cli/verbs/bench_profile.h"

#include <sys/resource.h>

#include "vernier/bench/profile.h"
#include "vernier/bench/roofline.h"
#include "vernier/engine/describe.h"

namespace vernier {

void add_profile(BenchReport& report, Session& session, const NamedData& inputs) {
  constexpr size_t kRuns = 20;
  const Profile measured = profile(session, inputs, kRuns);
  report.profile_runs = kRuns;
  std::set<ElementType> types;
  for (const StepTime& step : measured.steps) {
    if (step.work && step.work->flops > 0) types.insert(step.work->type);
  }
  const MachinePeak peak = measure_peak(types);
  for (const StepTime& step : measured.steps) {
    auto& row = report.steps.emplace_back(
        BenchReport::Step{step.kernel, step.nodes, step.milliseconds, step.fallback_ms});
    for (const StepTime& each : step.inside)
      row.inside.push_back({each.kernel, each.nodes, each.milliseconds});
    if (!step.work) continue;
    const Roofline roof = roofline(*step.work, peak);
    row.roofline = {step.work->flops, step.work->bytes, roof.floor_ms, roof.memory ? "memory" : "compute"};
  }
  for (const auto& [type, flops] : peak.flops)
    report.peak.flops_per_s[std::string(element_type_short_name(type))] = flops;
  report.peak.bytes_per_s = peak.bandwidths;
  report.watched_ms = measured.watched_ms;
  report.unwatched_ms = measured.unwatched_ms;
}

void add_memory(BenchReport& report, const Plan& plan) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report.memory = {constant_bytes(*plan.graph), plan.arena_bytes,
                   static_cast<size_t>(usage.ru_maxrss) * 1024};
}

}  // namespace vernier
