// Judging recorded runs without running anything.
#pragma once

#include <functional>

#include "vernier/compare/compare.h"

namespace vernier {

// A recorded run: how many samples it has, and each of them.
struct RecordedRun {
  std::string name;
  size_t samples = 0;
  std::function<Trace(size_t)> trace;
};

// Every run against the first, sample by sample; a sample that one side lacks is a failure.
std::vector<ComparisonResult> judge_recorded(const std::vector<RecordedRun>& runs, size_t against,
                                             const CompareOptions& options);

}  // namespace vernier
