#include "vernier/diagnose/experiments/outputs_compared.h"

#include <algorithm>

#include "vernier/diagnose/subjects/runner_subject.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

const EngineOutputs& OutputsCompared::culprit() const {
  const auto fails = [](const EngineOutputs& engine) { return engine.comparison.verdict == Verdict::kFail; };
  auto found = std::find_if(engines.begin(), engines.end(), [&](const EngineOutputs& engine) {
    return fails(engine) && !(engine.failure && engine.outputs.empty());
  });
  if (found == engines.end()) found = std::find_if(engines.begin(), engines.end(), fails);
  return found == engines.end() ? engines.front() : *found;
}

OutputsCompared compare_outputs(const DiagnosisJob& job, KeptSamples& samples, Stopwatch& watch) {
  OutputsCompared result;
  result.engines.push_back({job.engine, {}, {}, {}});
  for (const DiagnosedRunner& other : job.others) result.engines.push_back({other, {}, {}, {}});
  // An engine that hangs leaves time to find out where.
  const double part = 0.3 / static_cast<double>(result.engines.size());
  WatchedRunner against(*job.against, watch);
  std::list<WatchedRunner> runners;
  ComparisonJob comparison;
  comparison.runners = {&against};
  for (const EngineOutputs& each : result.engines)
    comparison.runners.push_back(&runners.emplace_back(*each.engine.runner, watch, part));
  comparison.compare = job.compare;
  comparison.model = job.model;
  comparison.seed = job.seed;
  comparison.observe = [&](size_t runner, const NamedData&, const Trace& trace) {
    auto& outputs = runner == 0 ? result.right : result.engines[runner - 1].outputs;
    outputs[trace.sample] = outputs_of(trace);
  };
  auto outcome = watch.time("comparison", 1, [&] { return run_and_compare(comparison, samples); });
  result.failures = std::move(outcome.failures);
  if (outcome.comparisons.size() > result.engines.size())
    result.expected = std::move(outcome.comparisons.back());
  auto runner = runners.begin();
  for (size_t i = 0; i < result.engines.size(); ++i, ++runner) {
    result.engines[i].comparison = std::move(outcome.comparisons.at(i));
    result.engines[i].failure = runner->first_failure();
  }
  return result;
}

std::vector<SampleOutcome> outcomes_of(const EngineOutputs& engine, const std::vector<Sample>& samples) {
  std::vector<SampleOutcome> outcomes;
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto fails = [&](const TensorComparison& tensor) {
      return std::find(tensor.failing.begin(), tensor.failing.end(), i) != tensor.failing.end();
    };
    const auto& tensors = engine.comparison.tensors;
    const bool is_missing = !engine.outputs.contains(i);
    outcomes.push_back(
        {i, samples[i].origin, is_missing || std::any_of(tensors.begin(), tensors.end(), fails)});
  }
  return outcomes;
}

}  // namespace vernier
