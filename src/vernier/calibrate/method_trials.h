// What each method costs the outputs of a model: engines of int8 are built by its ranges, and compared with
// the one of floats.
#pragma once

#include <functional>

#include "vernier/calibrate/range_method.h"
#include "vernier/calibrate/trial_samples.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct MethodTrial {
  RangeMethod method = RangeMethod::kEntropy;
  double error = 0;  // TrialSamples::int8_error
};

// One trial for each method, the best first; of equal ones the order is that of RangeMethod. None where the
// model has no output of floats. Throws what building and running engines throws.
std::vector<MethodTrial> try_methods(const Model& model, const TrialSamples& samples,
                                     const std::function<Scales(RangeMethod)>& scales_by);

}  // namespace vernier
