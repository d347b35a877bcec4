// Chooses among the plans that were raced.
#pragma once

#include "vernier/search/prober.h"

namespace vernier {

// Indices of those that no other beats in both latency and error on the selection, the fastest first. One
// without an engine is never among them.
std::vector<size_t> pareto_front(const std::vector<RacedPlan>& raced);

// The fastest plan that keeps the limit on the data that it was chosen on and on those that were held out,
// and is faster than the first beyond the noise of timing. If none is, the first, if it keeps the limit; else
// the fastest that does. Nothing if none keeps it.
std::optional<size_t> choose(const std::vector<RacedPlan>& raced, double limit);

// Finds, among plans none of which keeps the limit, the one with the least deviation, on whichever data it is
// worse.
std::optional<size_t> closest(const std::vector<RacedPlan>& raced);

// The share of samples beyond the limit, with a probability of 95 % at most, if `beyond` of `samples` were
// (Clopper and Pearson). 1 for no samples.
double share_beyond_at_most(size_t beyond, size_t samples);

}  // namespace vernier
