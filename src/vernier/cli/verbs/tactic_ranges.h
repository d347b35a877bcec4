// Tuned sizes, and where tactics change with them, as reports tell it.
#pragma once

#include "vernier/engine/sizes/tuned_sizes.h"
#include "vernier/report/engine_report.h"

namespace vernier {

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
