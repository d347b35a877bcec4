// B17, B18: engine and reference are both right, and still differ: the model turns rounding into another
// decision, or feeds it back until it is as large as what is meant.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

struct AmplifierJob {
  const ShownRun& shown;
  const NamedData& inputs;
  const NamedData& outputs;  // that the engine made
  uint64_t seed = 1;
};

// The node that turns errors of rounding into those of the outputs; nothing if these are not that large, or
// rounding does not make them.
std::vector<RootCause> amplifiers(const AmplifierJob& job, Stopwatch& watch);

}  // namespace vernier
