// An engine that refuses the model: whether its optimiser has made it what it refuses.
#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/repairs/workshop.h"
#include "vernier/diagnose/subjects/watched_runner.h"

namespace vernier {

// Runs the engine without its optimisations, where it has that option. If it runs then, this is the cause
// (B31), and leaving them out the repair: `culprit`, which may be nothing, becomes that. `right` are the
// outputs that it should have; null if nobody knows.
void blame_optimiser(Workshop& workshop, const WatchedRunner::Failure& failure, const NamedData* right,
                     std::optional<Culprit>& culprit, Stopwatch& watch);

}  // namespace vernier
