#include "vernier/engine/sizes/region_plans.h"

#include "vernier/base/hash.h"
#include "vernier/engine/sizes/learned_sizes.h"
#include "vernier/ir/hash.h"

namespace vernier {

namespace {

// Large constants are those of the model, which copies of its graph share; of small ones the content counts.
// No identity is used again: a program keeps its constants.
uint64_t hash_of_constant(const Tensor& constant) {
  constexpr size_t kSmall = 512;  // bytes
  if (constant.type() == ElementType::kString || constant.byte_size() <= kSmall) return hash_tensor(constant);
  return hash_combine(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(constant.identity())),
                      hash_text(dims_text(constant.dims())));
}

// Copies have nodes of the same names; what is asked of kernels, and told of steps, goes by them.
uint64_t hash_of(const Graph& region) {
  uint64_t hash = structural_hash(region, hash_of_constant);
  for_each_graph(region, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) hash = hash_text(node->name, hash);
  });
  return hash;
}

}  // namespace

std::shared_ptr<const Plan> RegionPlans::plan(const Graph& region, const std::vector<ValueType>& inputs,
                                              const PlanChoices& choices, bool with_graph) {
  const auto plans = learned(region, inputs);
  if (!plans) return nullptr;
  std::shared_ptr<const Plan> plan;
  try {
    plan = plans->plan(inputs, choices, nullptr, with_graph);
  } catch (const Error& error) {
    // Only a plan for these sizes alone reports what is wrong at them.
    if (error.code() == ErrorCode::kInternal) throw;
  }
  if (!plan) forget(plans, inputs);
  return plan;
}

std::shared_ptr<SizedPlans> RegionPlans::learned(const Graph& region, const std::vector<ValueType>& inputs) {
  const std::lock_guard lock(mutex_);
  if (plans_ || lessons_ >= kMostLessons) return plans_;
  if (before_ == inputs) return nullptr;
  const auto types = before_.empty() ? std::nullopt : learned_types(before_, inputs);
  before_ = inputs;
  if (!types) return nullptr;
  ++lessons_;
  SizedPlans::Maker maker = maker_;
  maker.graph = [&region, types = *types, infer = infer_] { return infer(region, types); };
  plans_ = std::make_shared<SizedPlans>(std::move(maker));
  return plans_;
}

void RegionPlans::forget(const std::shared_ptr<SizedPlans>& plans, const std::vector<ValueType>& inputs) {
  const std::lock_guard lock(mutex_);
  if (plans_ != plans) return;
  plans_ = nullptr;
  before_ = inputs;
}

std::shared_ptr<Program> RegionPrograms::get(std::unique_ptr<Graph> region, uint64_t how, const Make& make) {
  // Sizes that are known where the region stands are not known of the program: it is for any.
  for (Value* input : region->inputs) {
    if (input->type.is_tensor()) input->type.tensor.shape.reset();
  }
  const uint64_t key = hash_combine(hash_of(*region), how);
  const std::lock_guard lock(mutex_);
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  if (programs_.size() >= kMost) programs_.clear();
  return programs_[key] = make(std::move(region));
}

}  // namespace vernier
