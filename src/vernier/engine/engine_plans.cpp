#include "vernier/engine/engine_plans.h"

#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"
#include "vernier/engine/workspace.h"
#include "vernier/ir/clone.h"

namespace vernier {

EnginePlans::EnginePlans(Planner& planner, std::vector<PreparedPlan> prepared,
                         std::vector<RestoredPlan::Recipe> recorded, TunedChoices tuned)
    : planner_(planner), prepared_(std::move(prepared)), tuned_(std::move(tuned)) {
  for (const PreparedPlan& each : prepared_) {
    program(each.threads).add(each.inputs, each.plan);
    largest_arena_ = std::max(largest_arena_, each.plan->arena_bytes);
  }
  for (RestoredPlan::Recipe& recipe : recorded) {
    largest_arena_ = std::max(largest_arena_, recipe.arena_bytes);
    restored_.emplace_back(std::move(recipe));
  }
}

const std::vector<PreparedPlan>& EnginePlans::prepared() {
  std::call_once(restored_once_, [this] {
    std::vector<PreparedPlan> made;
    for (const RestoredPlan& each : restored_) {
      const ThreadLimit scope(each.recipe().threads);
      made.push_back({each.recipe().inputs, restored(each.recipe().inputs), each.recipe().threads});
    }
    prepared_.insert(prepared_.begin(), made.begin(), made.end());
  });
  return prepared_;
}

std::shared_ptr<const Plan> EnginePlans::restored(const std::vector<ValueType>& inputs) {
  for (RestoredPlan& each : restored_) {
    if (each.recipe().inputs != inputs || each.recipe().threads != thread_count()) continue;
    return each.plan([this](const RestoredPlan::Recipe& recipe) {
      return planner_.plan_as_recorded(recipe.graph(), recipe.choices);
    });
  }
  return nullptr;
}

Program& EnginePlans::program(int threads) {
  const std::lock_guard lock(mutex_);
  auto& program = programs_[threads];
  if (program) return *program;
  const BuildOptions& options = planner_.options();
  program = std::make_unique<Program>(
      clone(planner_.graph()),
      [this, &options](const Graph& source, const std::vector<ValueType>& inputs, Program::Bindings bindings,
                       bool with_graph) {
        require_profile(options.profiles, source, inputs);
        auto plan = bindings.empty() ? restored(inputs) : nullptr;
        if (!plan)
          plan = planner_.plan_on_demand(source, inputs, tuned_.nearest(inputs), bindings, with_graph);
        require_workspace(*plan, options.workspace, options.profiles);
        return plan;
      },
      planner_.kernels().kernels());
  return *program;
}

}  // namespace vernier
