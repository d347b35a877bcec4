// The metrics of two tensors alone: the one measure of error that noise, trials and prices share with
// verdicts.
#pragma once

#include "vernier/compare/metrics.h"

namespace vernier {

// Takes two tensors of equal sizes, both of real types. Where a NaN or Inf stands on one side only, no
// distance is finite (metrics.h).
Distances distances_of(const Tensor& reference, const Tensor& actual);
// Distances::relative_l2 of the same, in one pass, where nothing else is read.
double relative_l2_of(const Tensor& reference, const Tensor& actual);

}  // namespace vernier
