// Which layouts and tactics a plan is to have: tried on this machine, as the options say.
#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

// Options of the tuner with approximate tactics among those that must not be used, if they may not be.
TuneOptions tuner_options(TuneOptions options);

// Chooses for a graph at known sizes. Constants are read in the forms that plans for other sizes, `prepared`,
// read them in already, as far as there are kernels for that. What was tried is added to `tuning`.
PlanChoices choose_tactics(Planner& planner, const Graph& specialised,
                           const std::vector<PreparedPlan>& prepared, Tuning& tuning);

}  // namespace vernier
