// These are chosen by the times of whole plans: in which layout they keep images, which all that read each
// other share; and what becomes of tactics that are about as fast as the backend's own choice, alone. In a
// model they may not be: who reads what another core wrote waits for it.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/tune/tuner.h"

namespace vernier {

struct PlanCandidate {
  Layout images = PlanChoices{}.images;
  NearTies near_ties = NearTies::kOwnChoice;
};

struct ChosenPlan {
  std::shared_ptr<const Plan> plan;
  PlanCandidate way;
};

// `make` gives the plan of a way. Where nothing differs, or the options ask for no trials, there is one plan.
// Times are taken on drawn inputs.
ChosenPlan choose_plan(const std::function<std::shared_ptr<const Plan>(const PlanCandidate& way)>& make,
                       const Backend& kernels, TimingCache& cache, const TuneOptions& options);

}  // namespace vernier
