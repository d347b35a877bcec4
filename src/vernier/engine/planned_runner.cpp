#include "vernier/engine/planned_runner.h"

#include "vernier/base/hash.h"
#include "vernier/engine/model_values.h"
#include "vernier/engine/planned_roundings.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/ir/hash.h"

namespace vernier {

namespace {

// Hashes what decides the numbers of a promise, and nothing else.
uint64_t hash_of(const Graph& graph, const PlannedRoundings& roundings) {
  uint64_t sum = structural_hash(graph), at = 0;
  for (const auto& node : graph.nodes()) {
    ++at;
    if (roundings.unrounded.contains(node.get())) sum = hash_combine(sum, at);
    const auto inside = roundings.inside.find(node.get());
    if (inside == roundings.inside.end()) continue;
    for (const OperandFormat& format : {inside->second.operands, inside->second.probabilities})
      sum = hash_text(format.text(), hash_combine(sum, at));
  }
  return sum;
}

// Nothing where there is more than tensors.
std::optional<uint64_t> hash_of(const NamedData& inputs) {
  uint64_t sum = inputs.size();
  for (const auto& [name, datum] : inputs) {
    if (!datum.is_tensor()) return std::nullopt;
    sum = hash_combine(hash_combine(sum, hash_text(name)), hash_tensor(datum.tensor));
  }
  return sum;
}

}  // namespace

PlannedRunner::PlannedRunner(std::shared_ptr<const Engine> engine, PromisedTraces* known)
    : source_(std::make_shared<EngineOnDemand>(std::move(engine))), known_(known) {}

PlannedRunner::PlannedRunner(std::shared_ptr<EngineOnDemand> engine)
    : source_(std::move(engine)), known_(nullptr) {}

std::map<std::string, std::string> PlannedRunner::description() {
  return {{"engine", "vernier reference"},
          {"arithmetic", "double"},
          {"rounding", "where the engine's plan rounds"}};
}

Trace PlannedRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  return run(inputs, taps, std::nullopt);
}

std::optional<Trace> PlannedRunner::run_with_noise(const NamedData& inputs,
                                                   const std::vector<std::string>& taps, uint64_t seed) {
  return run(inputs, taps, seed);
}

std::shared_ptr<const Plan> PlannedRunner::plan_for(const NamedData& inputs) {
  const auto& engine = source_->engine_for(inputs);
  if (!session_) session_.emplace(engine);
  return session_->plan_with_graph(inputs);
}

std::optional<Trace> PlannedRunner::run_with_values(const NamedData& inputs,
                                                    const std::vector<std::string>& taps,
                                                    const NamedData& values,
                                                    std::optional<uint64_t> noise_seed) {
  return run(*plan_for(inputs), inputs, taps, noise_seed, &values);
}

Trace PlannedRunner::run(const NamedData& inputs, const std::vector<std::string>& taps,
                         std::optional<uint64_t> noise_seed) {
  const auto plan = plan_for(inputs);
  const auto hash = known_ != nullptr && taps.empty() ? hash_of(inputs) : std::nullopt;
  if (!hash) return run(*plan, inputs, taps, noise_seed);
  const PromisedTraces::key_type key{hash_of(*plan->graph, planned_roundings(*plan)), *hash, noise_seed};
  if (const auto found = known_->find(key); found != known_->end()) return found->second;
  return known_->emplace(key, run(*plan, inputs, taps, noise_seed)).first->second;
}

Trace PlannedRunner::run(const Plan& plan, const NamedData& inputs, const std::vector<std::string>& taps,
                         std::optional<uint64_t> noise_seed, const NamedData* values) {
  const Graph& graph = *plan.graph;
  const PlannedRoundings roundings = planned_roundings(plan);
  const std::set<std::string> wanted(taps.begin(), taps.end());
  const std::set<const Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  Trace trace;
  trace.runner = name_;
  InterpreterOptions options;
  options.noise_seed = noise_seed;
  options.planned = &roundings;
  const ModelValues model(graph);
  const NamedData given_values = values != nullptr ? model.in_graph(*values) : NamedData();
  if (values != nullptr) options.values = &given_values;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (!outputs.contains(&value) && wanted.contains(model.name_of(value)))
      trace.entries.push_back(model.entry_of(value, datum));
  };
  NamedData given = inputs;
  for (const Value* input : source_->engine()->graph().inputs) {
    if (input->is_constant() && !given.contains(input->name)) given[input->name] = *input->constant;
  }
  auto result = run_reference(graph, given, options);
  trace.unit_roundoff = result.unit_roundoff;
  for (size_t i = 0; i < result.outputs.size(); ++i)
    trace.entries.push_back(make_trace_entry(*graph.outputs[i], std::move(result.outputs[i]), true));
  return trace;
}

}  // namespace vernier
