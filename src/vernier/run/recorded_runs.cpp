#include "vernier/run/recorded_runs.h"

namespace vernier {

std::vector<ComparisonResult> judge_recorded(const std::vector<RecordedRun>& runs, size_t against,
                                             const CompareOptions& options) {
  std::vector<ComparisonResult> results;
  const RecordedRun& reference = runs.at(against);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i == against) continue;
    Comparison comparison(options);
    for (size_t sample = 0; sample < std::max(reference.samples, runs[i].samples); ++sample) {
      if (sample >= reference.samples) {
        comparison.add_failure(Comparison::Side::kReference, sample,
                               fmt::format("'{}' has no sample {}", reference.name, sample));
      } else if (sample >= runs[i].samples) {
        comparison.add_failure(Comparison::Side::kActual, sample,
                               fmt::format("'{}' has no sample {}", runs[i].name, sample));
      } else {
        comparison.add(reference.trace(sample), runs[i].trace(sample));
      }
    }
    results.push_back(comparison.result());
    results.back().reference = reference.name;
    results.back().actual = runs[i].name;
  }
  return results;
}

}  // namespace vernier
