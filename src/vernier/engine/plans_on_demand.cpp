// Plans for sizes that come when an engine runs: what keeps them cheap.
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/engine/engine.h"
#include "vernier/engine/pipelines.h"
#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// How far sizes lie apart: the sum, over all dimensions, of how often one is doubled to be the other.
double distance(const std::vector<ValueType>& a, const std::vector<ValueType>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_tensor() || !b[i].is_tensor() || !a[i].tensor.shape || !b[i].tensor.shape) continue;
    const auto from = to_dims(*a[i].tensor.shape), to = to_dims(*b[i].tensor.shape);
    if (!from || !to || from->size() != to->size() || a[i].tensor.element != b[i].tensor.element)
      return HUGE_VAL;
    for (size_t axis = 0; axis < from->size(); ++axis)
      sum += std::abs(
          std::log2((static_cast<double>((*from)[axis]) + 1) / (static_cast<double>((*to)[axis]) + 1)));
  }
  return sum;
}

}  // namespace

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

// Perhaps for another number of threads.
std::shared_ptr<const Plan> Engine::nearest_prepared(const std::vector<ValueType>& inputs) const {
  const Prepared* nearest = nullptr;
  double least = HUGE_VAL;
  for (const Prepared& prepared : prepared_) {
    if (prepared.inputs == inputs) return prepared.plan;
    const double apart = distance(prepared.inputs, inputs);
    if (nearest != nullptr && apart >= least) continue;
    nearest = &prepared;
    least = apart;
  }
  return nearest == nullptr ? nullptr : nearest->plan;
}

// Sizes that come unprepared take the choices of the nearest that were. With --deterministic tactics are
// asked for at each size.
PlanChoices Engine::choices_of(const Plan* prepared, const std::vector<ValueType>& inputs) const {
  if (prepared == nullptr) return {};
  const bool is_same = std::any_of(prepared_.begin(), prepared_.end(), [&](const Prepared& each) {
    return each.plan.get() == prepared && each.inputs == inputs;
  });
  return options_.deterministic && !is_same ? PlanChoices{prepared->choices.images, {}} : prepared->choices;
}

std::shared_ptr<const Plan> Engine::plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                                   std::span<const CacheBinding> caches, bool with_graph) {
  const auto chosen = nearest_prepared(inputs);
  const auto choices = [&] {
    PlanChoices all = choices_of(chosen.get(), inputs);
    all.caches.assign(caches.begin(), caches.end());
    return all;
  };
  if (contradicts_names(source, inputs)) return plan_of(specialise(graph_for(inputs), inputs), choices());
  // Kernels are chosen, or broken, one by one.
  if (options_.deterministic || options_.fault) return plan_of(specialise(source, inputs), choices());
  if (!with_graph) {
    if (auto plan = resized_plan(inputs, chosen.get(), caches)) return plan;
  }
  auto sized = ranged().at(inputs);
  if (!sized) return plan_of(specialise(source, inputs), choices());
  auto plan = plan_of(sized->graph, choices(), kernels(), packed_, nullptr, &kernel_cache_);
  resizable_.add({std::move(*sized), plan, chosen, {caches.begin(), caches.end()}, thread_count()});
  return plan;
}

std::shared_ptr<const Plan> Engine::resized_plan(const std::vector<ValueType>& inputs, const Plan* chosen,
                                                 std::span<const CacheBinding> caches) {
  const auto symbols = ranged().symbols(inputs);
  const auto from = symbols ? resizable_.nearest(*symbols, chosen, caches, thread_count()) : nullptr;
  if (!from) return nullptr;
  auto resized = from->returned->take();
  if (!resized || !ranged().resize_again(from->graph, inputs, resized->nodes) ||
      !resized->plan.resize(resized->nodes)) {
    auto nodes = ranged().resize(from->graph, inputs);
    if (!nodes) return nullptr;
    PlanChoices choices = chosen == nullptr ? PlanChoices() : chosen->choices;
    choices.caches = from->caches;
    resized = std::unique_ptr<ReturnedPlans::Resized>(
        new ReturnedPlans::Resized{std::move(*nodes),
                                   {from->plan, Backends(kernels(), accelerators(), &device_constants_),
                                    packed_, choices, &kernel_cache_}});
    if (!resized->plan.resize(resized->nodes)) return nullptr;
  }
  const bool is_obedient = resized->plan.computes_alike();
  auto plan = from->returned->lend(std::move(resized));
  if (options_.precision.constraints == PrecisionConstraints::kObey && !is_obedient) require_obedience(*plan);
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
