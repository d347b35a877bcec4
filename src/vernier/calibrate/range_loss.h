// What is lost where values become codes.
#pragma once

#include "vernier/calibrate/range_histogram.h"
#include "vernier/precision/calibration.h"

namespace vernier {

using Bins = std::vector<RangeHistogram::Bin>;

// The numbers that codes of the entry stand for, ascending.
std::vector<double> code_values(const ScaleEntry& entry);

// The sum of the squares of the errors that quantisation makes of the values, clipping included, in the
// square of their unit. Zeros are not in the bins, and cost nothing: each scale keeps them.
double square_error(const Bins& bins, const ScaleEntry& entry);

// The Kullback-Leibler divergence, in nats, between the values and what is known of them by their codes: that
// they lie anywhere among the values that share the code, and those that are clipped at the end of the range.
// Infinite where values are clipped to a code that no other value has: the range could end before.
double code_divergence(const Bins& bins, const ScaleEntry& entry);

}  // namespace vernier
