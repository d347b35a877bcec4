// Finds what is wrong where the engine is sound: the types of the model, or of an engine's plan, lose what
// the model means. A hazard is a node at which the reference that rounds departs from the one that does not
// by more than rounding; it is proven by taking the node's results from the latter.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

struct HazardJob {
  const Model& model;
  const ShownRun& shown;     // of the engine
  const NamedData& inputs;   // of that run
  const NamedData& outputs;  // that the engine made
};

// By rank. Where the outputs of the engine are what the model means, but for what types of so many digits
// make of a healthy model, only what overflows in the types that the model declares.
std::vector<RootCause> model_hazards(const HazardJob& job, Stopwatch& watch);

// Whether the engine only rounds less often than the types of values say, where no Cast asks for it, or where
// these types end before what the model means: it is nearer to that than the model as declared is.
bool rounds_less(const HazardJob& job);

}  // namespace vernier
