#pragma once

#include <functional>
#include <set>

#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

// A runner whose caller does something else with inputs and outputs. Outputs that the model did not have,
// with which a rewrite keeps an engine from fusing nodes, are left out.
class ChangedRunner : public Runner {
 public:
  // `start` starts the engine. The outputs of `graph` stay. The candidate outlives this.
  ChangedRunner(std::function<std::unique_ptr<Runner>()> start, const Graph& graph,
                const RepairCandidate& candidate)
      : start_(std::move(start)), runner_(start_()), candidate_(candidate) {
    for (const Value* output : graph.outputs) outputs_.insert(output->name);
  }

  const std::string& name() const override { return runner_->name(); }
  std::map<std::string, std::string> description() override { return runner_->description(); }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    if (candidate_.starts_anew) runner_ = start_();
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
  Runner& original() override { return runner_->original(); }
  void limit_time(double seconds) override { runner_->limit_time(seconds); }
  std::string random_generator() const override { return runner_->random_generator(); }

 private:
  NamedData given(const NamedData& inputs) const {
    return candidate_.inputs ? candidate_.inputs(inputs) : inputs;
  }

  std::function<std::unique_ptr<Runner>()> start_;
  std::unique_ptr<Runner> runner_;
  std::set<std::string> outputs_;
  const RepairCandidate& candidate_;
};

}  // namespace vernier
