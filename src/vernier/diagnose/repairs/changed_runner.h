#pragma once

#include <functional>
#include <set>

#include "vernier/diagnose/repairs/candidate.h"
#include "vernier/exec/runner_decorator.h"

namespace vernier {

// A runner whose caller does something else with inputs and outputs. Outputs that the model did not have,
// with which a rewrite keeps an engine from fusing nodes, are left out.
class ChangedRunner : public RunnerDecorator {
 public:
  // `start` starts the engine. The outputs of `graph` stay. The candidate outlives this.
  ChangedRunner(std::function<std::unique_ptr<Runner>()> start, const Graph& graph,
                const RepairCandidate& candidate)
      : ChangedRunner(start(), start, graph, candidate) {}

  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    if (candidate_.starts_anew) {
      runner_ = start_();
      decorate(*runner_);
    }
    Trace trace =
        candidate_.run ? candidate_.run(*runner_, given(inputs)) : runner_->run(given(inputs), taps);
    if (candidate_.outputs) candidate_.outputs(trace);
    std::erase_if(trace.entries, [this](const TraceEntry& entry) {
      return entry.is_output && !outputs_.contains(entry.value);
    });
    return trace;
  }
  std::vector<double> time(const NamedData& inputs, size_t runs) override {
    // The time of the engine itself is not all then.
    if (candidate_.run || candidate_.starts_anew) throw unsupported("only the caller can time what he does");
    return runner_->time(given(inputs), runs);
  }
  // Who changes what an engine is given adds no noise, and no values, to it.
  std::optional<Trace> run_with_noise(const NamedData&, const std::vector<std::string>&, uint64_t) override {
    return std::nullopt;
  }
  std::optional<Trace> run_with_values(const NamedData&, const std::vector<std::string>&, const NamedData&,
                                       std::optional<uint64_t>) override {
    return std::nullopt;
  }

 private:
  ChangedRunner(std::unique_ptr<Runner> runner, std::function<std::unique_ptr<Runner>()> start,
                const Graph& graph, const RepairCandidate& candidate)
      : RunnerDecorator(*runner),
        start_(std::move(start)),
        runner_(std::move(runner)),
        candidate_(candidate) {
    for (const Value* output : graph.outputs) outputs_.insert(output->name);
  }

  NamedData given(const NamedData& inputs) const {
    return candidate_.inputs ? candidate_.inputs(inputs) : inputs;
  }

  std::function<std::unique_ptr<Runner>()> start_;
  std::unique_ptr<Runner> runner_;
  std::set<std::string> outputs_;
  const RepairCandidate& candidate_;
};

}  // namespace vernier
