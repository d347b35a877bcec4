// Scales of a model that do not suit what it quantises: the engine may be sound, and the answers are still
// far from what the model without quantisation says.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/ir/graph.h"

namespace vernier {

// The sites at fault by their share of the error, which is what goes when a site alone is the identity. What
// eight bits cost a model that is quantised well is no fault. `samples` are those of the diagnosis, the first
// one that which is looked into.
std::vector<Culprit> quantisation_hazards(const Model& model, const std::vector<NamedData>& samples,
                                          Stopwatch& watch);

}  // namespace vernier
