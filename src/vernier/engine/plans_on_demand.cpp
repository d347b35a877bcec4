// Plans for sizes that come when an engine runs: what keeps them cheap.
#include "vernier/base/hash.h"
#include "vernier/base/thread_limit.h"
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

SizedPlans::Maker Engine::plans_by(const Backend& kernels, PackedConstants& packed) {
  SizedPlans::Maker maker{.graph = nullptr,
                          .plan = nullptr,
                          .require_obedience = nullptr,
                          .backends = Backends(kernels, accelerators(), &device_constants_),
                          .packed = packed};
  maker.plan = [this, &kernels, &packed](std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                         KernelCache& cache) {
    return plan_of(std::move(graph), choices, kernels, packed, nullptr, &cache);
  };
  maker.require_obedience = [this](const Plan& plan) {
    if (options_.precision.constraints == PrecisionConstraints::kObey) require_obedience(plan);
  };
  return maker;
}

SizedPlans& Engine::sized() {
  std::call_once(sized_once_, [this] {
    SizedPlans::Maker maker = plans_by(kernels(), packed_);
    maker.graph = [this] {
      auto graph = clone(this->graph());
      for (Value* input : graph->inputs) input->constant.reset();  // a default is given like any other input
      return for_all_sizes(std::move(graph));
    };
    sized_ = std::make_unique<SizedPlans>(std::move(maker));
  });
  return *sized_;
}

std::unique_ptr<Graph> Engine::for_all_sizes(std::unique_ptr<Graph> graph) const {
  ops::infer_types(*graph);
  run_passes(*graph, plan_pipeline(driver().group_traits()), options_.passes);
  return graph;
}

std::shared_ptr<Program> Engine::region_program(std::unique_ptr<Graph> region, Layout images,
                                                const Backend& kernels, PackedConstants& packed) {
  const auto make = [&](std::unique_ptr<Graph> closed) {
    const auto plans = std::make_shared<RegionPlans>(
        plans_by(kernels, packed), [this](const Graph& source, const std::vector<ValueType>& types) {
          auto graph = clone(source);
          for (size_t i = 0; i < types.size(); ++i) graph->inputs[i]->type = types[i];
          return for_all_sizes(std::move(graph));
        });
    return std::make_shared<Program>(
        std::move(closed),
        [this, images, plans, &kernels, &packed](const Graph& source, const std::vector<ValueType>& types,
                                                 Program::Caches, bool with_graph) {
          const PlanChoices choices{images, {}};
          // Kernels are chosen, or broken, one by one.
          if (!options_.deterministic && !options_.fault) {
            if (auto plan = plans->plan(source, types, choices, with_graph)) return plan;
          }
          return plan_of(specialise(source, types), choices, kernels, packed);
        },
        kernels);
  };
  // What is only tried is not kept.
  if (&kernels != &this->kernels() || &packed != &packed_) return make(std::move(region));
  return regions_.get(std::move(region),
                      hash_combine(static_cast<uint64_t>(images), static_cast<uint64_t>(thread_count())),
                      make);
}

// Sizes that come unprepared take the choices of the nearest that were tuned, perhaps for another number of
// threads. With --deterministic tactics are asked for at each size.
PlanChoices Engine::choices_of(const TunedSizes* tuned, const std::vector<ValueType>& inputs) const {
  if (tuned == nullptr) return {};
  if (options_.deterministic && tuned->inputs != inputs) return {tuned->choices.images, {}};
  return tuned->choices;
}

void Engine::restore_plan(RestoredPlan::Recipe recipe) {
  tuned_.add({recipe.inputs, recipe.choices});
  restored_.emplace_back(std::move(recipe));
}

std::shared_ptr<const Plan> Engine::restored_plan(const std::vector<ValueType>& inputs) {
  for (RestoredPlan& each : restored_) {
    if (each.recipe().inputs != inputs || each.recipe().threads != thread_count()) continue;
    // The choices say already where one thread is to be used.
    return each.plan([this](const RestoredPlan::Recipe& recipe) {
      return plan_of(recipe.graph(), recipe.choices, steered(), packed_);
    });
  }
  return nullptr;
}

const std::vector<Engine::Prepared>& Engine::prepared() {
  std::call_once(restored_once_, [this] {
    std::vector<Prepared> made;
    for (const RestoredPlan& each : restored_) {
      const ThreadLimit scope(each.recipe().threads);
      made.push_back({each.recipe().inputs, restored_plan(each.recipe().inputs), each.recipe().threads});
    }
    prepared_.insert(prepared_.begin(), made.begin(), made.end());
  });
  return prepared_;
}

size_t Engine::largest_arena() const {
  size_t most = 0;
  for (const Prepared& each : prepared_) most = std::max(most, each.plan->arena_bytes);
  for (const RestoredPlan& each : restored_) most = std::max(most, each.recipe().arena_bytes);
  return most;
}

std::shared_ptr<const Plan> Engine::plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                                   std::span<const CacheBinding> caches, bool with_graph) {
  if (caches.empty()) {
    if (auto plan = restored_plan(inputs)) return plan;
  }
  const auto tuned = tuned_.nearest(inputs);
  const auto choices = [&] {
    PlanChoices all = choices_of(tuned.get(), inputs);
    all.caches.assign(caches.begin(), caches.end());
    return all;
  };
  if (contradicts_names(source, inputs)) return plan_of(specialise(graph_for(inputs), inputs), choices());
  // Kernels are chosen, or broken, one by one.
  if (options_.deterministic || options_.fault) return plan_of(specialise(source, inputs), choices());
  if (auto plan = sized().plan(inputs, choices(), tuned, with_graph)) return plan;
  return plan_of(specialise(source, inputs), choices());
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
