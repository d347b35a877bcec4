#include "vernier/engine/engine.h"

namespace vernier {

Engine::Engine(std::shared_ptr<Planner> planner, std::vector<PreparedPlan> prepared, TunedChoices tuned,
               Tuning tuning, std::vector<RestoredPlan::Recipe> recorded)
    : planner_(std::move(planner)),
      plans_(std::make_unique<EnginePlans>(*planner_, std::move(prepared), std::move(recorded),
                                           std::move(tuned))),
      tuning_(std::move(tuning)) {}

}  // namespace vernier
