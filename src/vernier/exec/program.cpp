#include "vernier/exec/program.h"

#include "vernier/ir/clone.h"

namespace vernier {

namespace {

std::vector<int64_t> key_of(const std::vector<ValueType>& inputs) {
  std::vector<int64_t> key;
  for (const ValueType& input : inputs) {
    const auto dims = input.is_tensor() && input.tensor.shape ? to_dims(*input.tensor.shape) : std::nullopt;
    if (!dims) {
      key.push_back(-1);
      continue;
    }
    key.push_back(static_cast<int64_t>(dims->size()));
    key.push_back(static_cast<int64_t>(input.tensor.element));
    key.insert(key.end(), dims->begin(), dims->end());
  }
  return key;
}

}  // namespace

std::vector<ValueType> types_of(const Graph& graph, std::span<const Datum> inputs) {
  std::vector<ValueType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Datum& input = inputs[i];
    types.push_back(input.is_tensor() ? ValueType::of(input.tensor.type(), to_shape(input.tensor.dims()))
                                      : graph.inputs[i]->type);
  }
  return types;
}

Program::Key Program::key(std::span<const Datum> inputs, Bindings bindings) {
  Key key;
  for (const Datum& input : inputs) {
    if (!input.is_tensor()) {
      key.push_back(-1);
      continue;
    }
    key.push_back(input.tensor.rank());
    key.push_back(static_cast<int64_t>(input.tensor.type()));
    key.insert(key.end(), input.tensor.dims().begin(), input.tensor.dims().end());
  }
  for (const MemoryBinding& binding : bindings)
    key.insert(key.end(), {static_cast<int64_t>(binding.input), static_cast<int64_t>(binding.output),
                           binding.capacity, binding.device});
  return key;
}

Program::Program(std::unique_ptr<Graph> graph, Compile compile, const Backend& kernels)
    : graph_(std::move(graph)), compile_(std::move(compile)), kernels_(kernels) {}

bool Program::advance(Key& key, std::vector<ValueType>& inputs, const Key& step) {
  size_t at = 0;
  const auto next = [&] {
    key[at] += step[at];
    return step[at++];
  };
  for (ValueType& input : inputs) {
    if (next() != 0) return false;  // the rank
    if (key[at - 1] < 0) continue;  // no tensor
    if (next() != 0) return false;  // the type
    for (Dim& dim : *input.tensor.shape) {
      next();
      if (key[at - 1] < 0) return false;
      dim = key[at - 1];
    }
  }
  return std::all_of(step.begin() + static_cast<int64_t>(at), step.end(), [](int64_t s) { return s == 0; });
}

std::shared_ptr<const Plan> Program::plan(std::span<const Datum> inputs, Bindings bindings) {
  if (inputs.size() != graph_->inputs.size())
    throw bad_input("graph '{}' takes {} inputs, but {} are given", graph_->name, graph_->inputs.size(),
                    inputs.size());
  return plan(types_of(*graph_, inputs), key(inputs, bindings), bindings);
}

std::shared_ptr<const Plan> Program::plan(const std::vector<ValueType>& inputs, Key key, Bindings bindings) {
  std::promise<std::shared_ptr<const Plan>> promise;
  {
    std::unique_lock lock(mutex_);
    if (auto kept = find_locked(key)) return kept;
    if (const auto under_way = making_.find(key); under_way != making_.end()) {
      const auto made = under_way->second;
      lock.unlock();
      return made.get();
    }
    making_.emplace(key, promise.get_future().share());
  }
  // Nothing is locked meanwhile: sessions whose sizes are known run on.
  try {
    auto plan = compile_(*graph_, inputs, bindings, false);
    const std::lock_guard lock(mutex_);
    making_.erase(key);
    if (plan->has_graph()) plans_.emplace_front(std::move(key), plan);
    if (plans_.size() > kMaxPlans) plans_.pop_back();
    promise.set_value(plan);
    return plan;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    making_.erase(key);
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const Plan> Program::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  return find_locked(key);
}

std::shared_ptr<const Plan> Program::find_locked(const Key& key) {
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, found);
  return found->second;
}

std::shared_ptr<const Plan> Program::plan_with_graph(std::span<const Datum> inputs) {
  auto plan = this->plan(inputs);
  if (plan->has_graph()) return plan;
  const auto types = types_of(*graph_, inputs);
  plan = compile_(*graph_, types, {}, true);
  add(types, plan);
  return plan;
}

void Program::add(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan) {
  auto key = key_of(inputs);
  const std::lock_guard lock(mutex_);
  plans_.remove_if([&](const auto& entry) { return entry.first == key; });
  plans_.emplace_back(std::move(key), std::move(plan));
}

void Program::remove(const std::vector<ValueType>& inputs) {
  const auto key = key_of(inputs);
  const std::lock_guard lock(mutex_);
  plans_.remove_if([&](const auto& entry) { return entry.first == key; });
}

std::unique_ptr<Graph> close_region(const Graph& region) {
  auto copy = clone(region);
  for (Value* outer : captured_values(region)) {
    Value* inner = outer->is_constant() ? copy->add_constant(outer->name, *outer->constant)
                                        : copy->add_input(outer->name, outer->type);
    copy->replace_uses(outer, inner);
  }
  return copy;
}

}  // namespace vernier
