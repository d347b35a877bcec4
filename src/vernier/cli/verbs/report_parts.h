// Turns what engines tell into parts of reports.
#pragma once

#include "vernier/engine/describe.h"
#include "vernier/engine/sizes/tuned_sizes.h"
#include "vernier/report/bench_report.h"
#include "vernier/report/build_report.h"
#include "vernier/report/engine_report.h"

namespace vernier {

// Times as a benchmark reports them.
BenchReport::Latency in_milliseconds(const std::vector<double>& seconds);

// Steps of a plan as reports have them.
std::vector<BuildReport::Step> report_steps(const std::vector<StepDescription>& steps);

// Tuned sizes, and where tactics change with them, as reports tell it.
template <class Report>
void tell_ranges(Report& report, const std::vector<TunedSizes>& tuned) {
  const auto text = [](const std::vector<ValueType>& inputs) {
    std::vector<std::string> types;
    for (const ValueType& type : inputs) types.push_back(type.text());
    return fmt::format("{}", fmt::join(types, ", "));
  };
  for (const TunedSizes& sizes : tuned) report.tuned.push_back(text(sizes.inputs));
  for (const auto& [value, ranges] : tactic_ranges(tuned)) {
    for (const TacticRange& range : ranges)
      report.ranges[value].push_back({range.tactic, text(range.first), text(range.last)});
  }
}

}  // namespace vernier
