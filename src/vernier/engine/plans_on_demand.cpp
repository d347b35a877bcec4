// Plans for sizes that come when an engine runs: what keeps them cheap.
#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/engine/engine.h"
#include "vernier/engine/pipelines.h"
#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

// Each plan asks for packed forms of them: reading all weights again for it would take longer than a run.
void Engine::know_constants() {
  constexpr size_t kLarge = size_t{1} << 12;  // bytes
  for_each_graph(graph(), [this](const Graph& inner) {
    for (const auto& value : inner.values()) {
      if (value->is_constant() && value->constant->type() != ElementType::kString &&
          value->constant->byte_size() >= kLarge)
        packed_.know(*value->constant);
    }
  });
}

const RangedGraph& Engine::ranged() {
  std::call_once(ranged_once_, [this] {
    auto graph = clone(this->graph());
    for (Value* input : graph->inputs) input->constant.reset();  // a default is given like any other input
    ops::infer_types(*graph);
    run_passes(*graph, plan_pipeline(driver().group_traits()), options_.passes);
    ranged_ = std::make_unique<RangedGraph>(std::move(graph));
  });
  return *ranged_;
}

std::shared_ptr<const Plan> Engine::plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                                   std::span<const CacheBinding> caches, bool with_graph) {
  PlanChoices choices = choices_for(inputs);
  choices.caches.assign(caches.begin(), caches.end());
  if (contradicts_names(source, inputs)) return plan_of(specialise(graph_for(inputs), inputs), choices);
  // Kernels are chosen, or broken, one by one.
  if (options_.deterministic || options_.fault) return plan_of(specialise(source, inputs), choices);
  if (!with_graph) {
    if (auto plan = resized_plan(inputs, choices)) return plan;
  }
  auto sized = ranged().at(inputs);
  if (!sized) return plan_of(specialise(source, inputs), choices);
  auto plan = plan_of(sized->graph, choices, kernels(), packed_, nullptr, &kernel_cache_);
  resizable_.add({std::move(*sized), plan, choices, thread_count()});
  return plan;
}

std::shared_ptr<const Plan> Engine::resized_plan(const std::vector<ValueType>& inputs,
                                                 const PlanChoices& choices) {
  const auto symbols = ranged().symbols(inputs);
  const auto from = symbols ? resizable_.nearest(*symbols, choices, thread_count()) : nullptr;
  auto resized = from ? ranged().resize(from->graph, inputs) : std::nullopt;
  if (!resized) return nullptr;
  const Backends backends(kernels(), accelerators());
  auto made = resize_plan(*from->plan, std::move(*resized), backends, packed_, choices, &kernel_cache_);
  if (!made) return nullptr;
  auto plan = std::make_shared<const Plan>(std::move(*made));
  if (options_.precision.constraints == PrecisionConstraints::kObey) require_obedience(*plan);
  return plan;
}

// Plans of other sizes mostly have the same kernels for the same nodes, and need not be looked into again.
void Engine::require_obedience(const Plan& plan) {
  uint64_t kernels = hash_text("plan");
  for (const Step& step : plan.steps) {
    for (const SlotId id : step.outputs) {
      if (id == kNoSlot) continue;
      const Slot& slot = plan.slots[static_cast<size_t>(id)];
      kernels =
          hash_combine(kernels, hash_text(slot.value->name, static_cast<uint64_t>(slot.operand.element)));
    }
    kernels =
        hash_combine(kernels, hash_text(step.kernel ? step.kernel->name : "", step.by_reference ? 1 : 0));
  }
  {
    const std::lock_guard lock(obedient_mutex_);
    if (obedient_.contains(kernels)) return;
  }
  const PrecisionAudit found = audit(plan);
  if (found.differences() > 0) throw PrecisionDifference(found);
  const std::lock_guard lock(obedient_mutex_);
  obedient_.insert(kernels);
}

}  // namespace vernier
