// Two runners timed in turn, so that what disturbs the machine disturbs both.
#pragma once

#include "vernier/bench/statistics.h"
#include "vernier/exec/runner.h"

namespace vernier {

struct PairedTimingOptions {
  double warmup = 0.5;   // seconds of each runner before anything counts
  double duration = 3;   // seconds of each runner, at least
  size_t min_runs = 30;  // of each runner
  size_t rounds = 9;     // changes of turn
  uint64_t seed = 1;
};

struct PairedTimes {
  std::vector<double> seconds;              // of the first runner, in order
  std::vector<std::vector<double>> others;  // of each other
  // For each other runner: how many times as long as the first it takes, the median over the rounds, and its
  // interval.
  std::vector<double> ratios;
  std::vector<Interval> intervals;
};

// Runs the first runner, and the others against it, on one sample. Throws what a runner throws.
PairedTimes time_paired(const std::vector<Runner*>& runners, const NamedData& inputs,
                        const PairedTimingOptions& options);

}  // namespace vernier
