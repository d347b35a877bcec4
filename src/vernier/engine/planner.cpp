#include "vernier/engine/planner.h"

#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/engine/audit.h"
#include "vernier/engine/plan_pipeline.h"
#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

Planner::Planner(EngineContent content, BuildOptions options)
    : options_(std::move(options)),
      content_(std::move(content)),
      files_(*content_.graph),
      kernels_(options_, content_.precision, content_.nodes) {
  for (const ShapeProfile& profile : options_.profiles) check_profile(profile, graph());
  know_constants();
}

// Each plan asks for packed forms of them: reading all weights again for it would take longer than a run.
void Planner::know_constants() {
  constexpr size_t kLarge = size_t{1} << 12;  // bytes
  for_each_graph(graph(), [this](const Graph& inner) {
    for (const auto& value : inner.values()) {
      if (value->is_constant() && value->constant->type() != ElementType::kString &&
          value->constant->byte_size() >= kLarge)
        packed_.know(*value->constant);
    }
  });
}

const Graph& Planner::graph_for(const std::vector<ValueType>& inputs) {
  if (!contradicts_names(graph(), inputs)) return graph();
  const std::lock_guard lock(separate_mutex_);
  if (separate_) return *separate_;
  if (!content_.separate) {
    throw bad_input("the inputs give dimensions of one name two sizes, which the engine takes for equal")
        .advise("give them two names in the model and build the engine again");
  }
  separate_ = content_.separate();
  return *separate_;
}

std::unique_ptr<Graph> Planner::specialise(const Graph& source, const std::vector<ValueType>& inputs) const {
  auto graph = clone(source);
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph->inputs[i]->type = inputs[i];
    graph->inputs[i]->constant.reset();  // a default is given like any other input
  }
  return for_all_sizes(std::move(graph));
}

std::unique_ptr<Graph> Planner::for_all_sizes(std::unique_ptr<Graph> graph) const {
  ops::infer_types(*graph);
  run_passes(*graph, plan_pipeline(kernels_.driver().group_traits()), options_.passes);
  return graph;
}

std::shared_ptr<const Plan> Planner::plan(std::shared_ptr<const Graph> graph, const PlanChoices& choices) {
  auto plan = make(std::move(graph), choices, kernels_.kernels(), packed_, kernels_.choice());
  // The fault must be in this plan, or in one before; but a step without a kernel gets one when it runs.
  if (options_.fault &&
      std::all_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) { return step.is_settled(); }))
    kernels_.fault();
  return plan;
}

std::shared_ptr<const Plan> Planner::plan_as_recorded(std::shared_ptr<const Graph> graph,
                                                      const PlanChoices& choices) {
  return make(std::move(graph), choices, kernels_.steered(), packed_, nullptr);
}

std::shared_ptr<const Plan> Planner::plan_with(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                               const Backend& kernels, PackedConstants& packed,
                                               const ChooseTactic& choose) {
  return make(std::move(graph), choices, kernels, packed, choose);
}

std::shared_ptr<const Plan> Planner::plan_again(const Plan& plan, const Backend& kernels,
                                                PackedConstants& packed) {
  return make(clone(*plan.graph), plan.choices, kernels, packed, nullptr);
}

std::shared_ptr<const Plan> Planner::make(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                          const Backend& kernels, PackedConstants& packed,
                                          const ChooseTactic& choose, KernelCache* cache) {
  const Backend& inner = &kernels == &kernels_.steered() ? kernels_.kernels() : kernels;
  const auto compile_region = [this, images = choices.images, &inner,
                               &packed](std::unique_ptr<Graph> region) {
    return region_program(std::move(region), images, inner, packed);
  };
  auto plan = std::make_shared<const Plan>(
      make_plan(std::move(graph), Backends(kernels, kernels_.steered_accelerators(), &device_constants_),
                compile_region, packed, choices, choose, cache));
  if (options_.precision.constraints == PrecisionConstraints::kObey) require_obedience(*plan);
  return plan;
}

SizedPlans::Maker Planner::plans_by(const Backend& kernels, PackedConstants& packed) {
  SizedPlans::Maker maker{.graph = nullptr,
                          .plan = nullptr,
                          .require_obedience = nullptr,
                          .backends = Backends(kernels, kernels_.steered_accelerators(), &device_constants_),
                          .packed = packed};
  maker.plan = [this, &kernels, &packed](std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                         KernelCache& cache) {
    return make(std::move(graph), choices, kernels, packed, nullptr, &cache);
  };
  maker.require_obedience = [this](const Plan& plan) {
    if (options_.precision.constraints == PrecisionConstraints::kObey) require_obedience(plan);
  };
  return maker;
}

SizedPlans& Planner::sized() {
  std::call_once(sized_once_, [this] {
    SizedPlans::Maker maker = plans_by(kernels_.kernels(), packed_);
    maker.graph = [this] {
      auto graph = clone(this->graph());
      for (Value* input : graph->inputs) input->constant.reset();  // a default is given like any other input
      return for_all_sizes(std::move(graph));
    };
    sized_ = std::make_unique<SizedPlans>(std::move(maker));
  });
  return *sized_;
}

std::shared_ptr<Program> Planner::region_program(std::unique_ptr<Graph> region, Layout images,
                                                 const Backend& kernels, PackedConstants& packed) {
  const auto make_program = [&](std::unique_ptr<Graph> closed) {
    const auto plans = std::make_shared<RegionPlans>(
        plans_by(kernels, packed), [this](const Graph& source, const std::vector<ValueType>& types) {
          auto graph = clone(source);
          for (size_t i = 0; i < types.size(); ++i) graph->inputs[i]->type = types[i];
          return for_all_sizes(std::move(graph));
        });
    return std::make_shared<Program>(
        std::move(closed),
        [this, images, plans, &kernels, &packed](const Graph& source, const std::vector<ValueType>& types,
                                                 Program::Bindings, bool with_graph) {
          const PlanChoices choices{images, {}};
          // Kernels are chosen, or broken, one by one.
          if (!options_.deterministic && !options_.fault) {
            if (auto plan = plans->plan(source, types, choices, with_graph)) return plan;
          }
          return make(specialise(source, types), choices, kernels, packed, nullptr);
        },
        kernels);
  };
  // Programs of kernels that are only tried are not kept.
  if (&kernels != &kernels_.kernels() || &packed != &packed_) return make_program(std::move(region));
  return regions_.get(std::move(region),
                      hash_combine(static_cast<uint64_t>(images), static_cast<uint64_t>(thread_count())),
                      make_program);
}

// Sizes that come unprepared take the choices of the nearest that were tuned, perhaps for another number of
// threads. With --deterministic tactics are asked for at each size.
PlanChoices Planner::choices_of(const TunedSizes* tuned, const std::vector<ValueType>& inputs) const {
  if (tuned == nullptr) return {};
  if (options_.deterministic && tuned->inputs != inputs) return {tuned->choices.images, {}};
  return tuned->choices;
}

std::shared_ptr<const Plan> Planner::plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                                    const std::shared_ptr<const TunedSizes>& tuned,
                                                    std::span<const MemoryBinding> bindings,
                                                    bool with_graph) {
  PlanChoices choices = choices_of(tuned.get(), inputs);
  choices.bindings.assign(bindings.begin(), bindings.end());
  if (contradicts_names(source, inputs)) return plan(specialise(graph_for(inputs), inputs), choices);
  // Sizes that were prepared keep their own graph, in which nothing is left to be computed of sizes, for
  // memory of the caller and for other threads, too. Where the options say deterministic or a fault, kernels
  // are chosen, or broken, one by one.
  const bool are_prepared = tuned != nullptr && tuned->inputs == inputs;
  if (!are_prepared && !options_.deterministic && !options_.fault) {
    if (auto plan = sized().plan(inputs, choices, tuned, with_graph)) return plan;
  }
  return plan(specialise(source, inputs), choices);
}

PrecisionAudit Planner::audit(const Plan& plan) const {
  return audit_precision(plan, content_.precision, content_.nodes);
}

// Plans of other sizes mostly have the same kernels for the same nodes, and need not be looked into again.
void Planner::require_obedience(const Plan& plan) {
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
