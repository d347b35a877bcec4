// Measures what is lost where values become codes.
#pragma once

#include <functional>

#include "vernier/calibrate/range_histogram.h"
#include "vernier/precision/calibration.h"

namespace vernier {

using Bins = std::vector<RangeHistogram::Bin>;

// The numbers that codes of the entry stand for, ascending.
std::vector<double> code_values(const ScaleEntry& entry);

// The sum of the squares of the errors that quantization makes of the values, clipping included, in the
// square of their unit. Zeros are not in the bins, and cost nothing: each scale keeps them.
double square_error(const Bins& bins, const ScaleEntry& entry);

// The Kullback-Leibler divergence, in nats, between the values and what is known of them by their codes: that
// they lie anywhere among the values that share the code, and those that are clipped at the end of the range.
// Infinite where values are clipped to a code that no other value has: the range could end before.
double code_divergence(const Bins& bins, const ScaleEntry& entry);

// The range that loses least. Internal to the room.
struct RangeEnds {
  double low, high;  // low <= 0 <= high
};

using ScaleOfRange = ScaleEntry (*)(double low, double high);
using RangeLoss = std::function<double(const ScaleEntry&)>;

// Finds the scale with the least loss among ranges that are a part of `all`, and of equal ones that of the
// widest. With `each_end` the two ends are narrowed each by itself, else together.
ScaleEntry best_scale(const RangeEnds& all, bool each_end, ScaleOfRange scale_of, const RangeLoss& loss);

}  // namespace vernier
