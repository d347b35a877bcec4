// Does what `evaluate` and `merge` do with the scores of all samples.
#pragma once

#include "vernier/cli/options/evaluate_options.h"
#include "vernier/cli/verb.h"
#include "vernier/evaluate/evaluation.h"

namespace vernier {

struct OwnedMetrics {
  explicit OwnedMetrics(const std::vector<MetricOptions>& options);

  std::vector<std::unique_ptr<TaskMetric>> owned;
  std::vector<TaskMetric*> all;
};

// Judges, tells, and writes the files that were asked for; gives the exit status. `graph` is what a page
// draws, as JSON; "": nothing.
int finish_evaluation(const EvaluationPart& whole, const OwnedMetrics& metrics, const EvaluationFiles& files,
                      const CommonOptions& common, const std::string& graph);

}  // namespace vernier
