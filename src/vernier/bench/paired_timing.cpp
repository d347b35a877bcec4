#include "vernier/bench/paired_timing.h"

#include <cmath>
#include <numeric>

namespace vernier {

namespace {

double total(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// Runs until the time is over, in ever longer blocks; gives the median of the last block.
double warm_up(Runner& runner, const NamedData& inputs, double warmup) {
  double spent = 0, median = 0;
  for (size_t runs = 1; spent <= warmup; runs *= 2) {
    const auto block = runner.time(inputs, runs);
    spent += total(block);
    median = summarise(block).p50;
    if (median == 0) break;
  }
  return median;
}

}  // namespace

PairedTimes time_paired(const std::vector<Runner*>& runners, const NamedData& inputs,
                        const PairedTimingOptions& options) {
  std::vector<size_t> block;  // runs of each runner in one round
  for (Runner* runner : runners) {
    const double each = std::max(1e-7, warm_up(*runner, inputs, options.warmup));
    const double wanted = std::max(options.duration / each, static_cast<double>(options.min_runs));
    block.push_back(static_cast<size_t>(std::ceil(wanted / static_cast<double>(options.rounds))));
  }
  std::vector<std::vector<double>> all(runners.size()), medians(runners.size());
  for (size_t round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      // Who comes first changes from round to round.
      const size_t turn = round % 2 == 0 ? i : runners.size() - 1 - i;
      const auto seconds = runners[turn]->time(inputs, block[turn]);
      all[turn].insert(all[turn].end(), seconds.begin(), seconds.end());
      medians[turn].push_back(summarise(seconds).p50);
    }
  }
  PairedTimes result;
  for (size_t i = 1; i < runners.size(); ++i) {
    std::vector<double> ratios;
    for (size_t round = 0; round < options.rounds; ++round)
      ratios.push_back(medians[i][round] / medians[0][round]);
    result.ratios.push_back(summarise(ratios).p50);
    result.intervals.push_back(median_interval(ratios, options.seed));
    result.others.push_back(std::move(all[i]));
  }
  result.seconds = std::move(all[0]);
  return result;
}

}  // namespace vernier
