#include "vernier/engine/sizes/sized_plans.h"

#include "vernier/base/threads.h"

namespace vernier {

const RangedGraph& SizedPlans::ranged() {
  std::call_once(once_, [this] { ranged_ = std::make_unique<RangedGraph>(maker_.graph()); });
  return *ranged_;
}

std::shared_ptr<const Plan> SizedPlans::plan(const std::vector<ValueType>& inputs, const PlanChoices& choices,
                                             const std::shared_ptr<const TunedSizes>& tuned,
                                             bool with_graph) {
  if (!with_graph) {
    if (auto plan = resized(inputs, choices, tuned.get())) return plan;
  }
  auto sized = ranged().at(inputs);
  if (!sized) return nullptr;
  auto plan = maker_.plan(sized->graph, choices, kernels_);
  resizable_.add({std::move(*sized), plan, tuned, choices.bindings, thread_count()});
  return plan;
}

std::shared_ptr<const Plan> SizedPlans::resized(const std::vector<ValueType>& inputs,
                                                const PlanChoices& choices, const TunedSizes* tuned) {
  const auto symbols = ranged().symbols(inputs);
  const auto from = symbols ? resizable_.nearest(*symbols, tuned, choices.bindings, thread_count()) : nullptr;
  if (!from) return nullptr;
  auto resized = from->returned->take();
  if (!resized || !ranged().resize_again(from->graph, inputs, resized->nodes) ||
      !resized->plan.resize(resized->nodes)) {
    auto nodes = ranged().resize(from->graph, inputs);
    if (!nodes) return nullptr;
    resized = std::unique_ptr<ReturnedPlans::Resized>(new ReturnedPlans::Resized{
        std::move(*nodes), {from->plan, maker_.backends, maker_.packed, choices, &kernels_}});
    if (!resized->plan.resize(resized->nodes)) return nullptr;
  }
  const bool computes_alike = resized->plan.computes_alike();
  auto plan = from->returned->lend(std::move(resized));
  if (!computes_alike) maker_.require_obedience(*plan);
  return plan;
}

}  // namespace vernier
