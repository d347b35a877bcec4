// Summarises repeated measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace vernier {

struct Summary {
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0, mean = 0, min = 0, max = 0;
};

// Percentiles by linear interpolation between order statistics. All zero for no values.
Summary summarise(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

// The interval that holds 95 % of the medians of resamples (with replacement) of `values`.
Interval median_interval(const std::vector<double>& values, uint64_t seed);

// The time of what takes little of it.

// Seconds of the shortest of some runs, after one that does not count: of three at least, and of as many as
// take 50 ms together.
double shortest(const std::function<void()>& run);

}  // namespace vernier
