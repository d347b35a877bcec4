#include "vernier/engine/planned_runner.h"

#include "vernier/backends/reference/interpreter.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

// Groups around a contraction that run as one kernel; pointwise ones round inside, as their members say. What
// quantises inside rounds there.
PlannedGroups unrounded_groups(const Plan& plan) {
  PlannedGroups groups;
  for (const Step& step : plan.steps) {
    if (step.node == nullptr || !step.kernel || !ops::is_group(*step.node)) continue;
    const auto kind = step.node->attribute<std::string>("kind", "");
    const auto& members = ops::body(*step.node).nodes();
    const bool quantises = std::any_of(members.begin(), members.end(), [](const auto& member) {
      return member->op.find("QuantizeLinear") != std::string::npos;
    });
    if ((kind == "conv" || kind == "matmul") && !quantises) groups.insert(step.node);
  }
  return groups;
}

}  // namespace

PlannedRunner::PlannedRunner(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), session_(engine_) {}

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

Trace PlannedRunner::run(const NamedData& inputs, const std::vector<std::string>& taps,
                         std::optional<uint64_t> noise_seed) {
  const auto plan = session_.plan(inputs);
  const Graph& graph = *plan->graph;
  const PlannedGroups groups = unrounded_groups(*plan);
  const std::set<std::string> wanted(taps.begin(), taps.end());
  const std::set<const Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  Trace trace;
  trace.runner = name_;
  InterpreterOptions options;
  options.noise_seed = noise_seed;
  options.planned = &groups;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (!outputs.contains(&value) && wanted.contains(value.name))
      trace.entries.push_back(make_trace_entry(value, datum, false));
  };
  NamedData given = inputs;
  for (const Value* input : engine_->graph().inputs) {
    if (input->is_constant() && !given.contains(input->name)) given[input->name] = *input->constant;
  }
  auto result = run_reference(graph, given, options);
  trace.unit_roundoff = result.unit_roundoff;
  for (size_t i = 0; i < result.outputs.size(); ++i)
    trace.entries.push_back(make_trace_entry(*graph.outputs[i], std::move(result.outputs[i]), true));
  return trace;
}

}  // namespace vernier
