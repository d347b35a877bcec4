#include "vernier/diagnose/experiments/outputs_compared.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

const EngineOutputs& OutputsCompared::root_cause() const {
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

namespace {

bool is_right(const ComparedEngine& engine) {
  return engine.comparison->verdict == Verdict::kPass || engine.comparison->verdict == Verdict::kMistrusted;
}

// Whether two engines err alike.
bool is_same_error(const ComparedEngine& a, const ComparedEngine& b, const OutputsBySample& right) {
  constexpr double kMuchNearer = 0.1;
  size_t compared = 0;
  for (const auto& [sample, outputs] : *a.outputs) {
    const auto other = b.outputs->find(sample), known = right.find(sample);
    if (other == b.outputs->end()) return false;
    if (known == right.end()) continue;
    const double between = bounded_distance(outputs, other->second, known->second),
                 error = std::max(bounded_distance(outputs, known->second, known->second),
                                  bounded_distance(other->second, known->second, known->second));
    if (between > kMuchNearer * error) return false;
    ++compared;
  }
  return compared > 0 && a.outputs->size() == b.outputs->size();
}

std::string quoted(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace

std::vector<EngineAgreement> agreements(const std::vector<ComparedEngine>& engines,
                                        const std::string& against, const OutputsBySample& right) {
  std::vector<EngineAgreement> result;
  for (const ComparedEngine& engine : engines) {
    EngineAgreement& each = result.emplace_back();
    each.name = engine.name;
    each.verdict = engine.comparison->verdict;
    if (is_right(engine)) each.agrees_with.push_back(against);
    for (const ComparedEngine& other : engines) {
      if (&other == &engine) continue;
      const bool both_right = is_right(engine) && is_right(other),
                 both_wrong = !is_right(engine) && !is_right(other);
      if (both_right || (both_wrong && is_same_error(engine, other, right)))
        each.agrees_with.push_back(other.name);
    }
  }
  return result;
}

std::string agreement_sentence(const std::vector<EngineAgreement>& engines) {
  std::vector<std::string> parts;
  for (const EngineAgreement& engine : engines) {
    std::string part = engine.agrees_with.empty()
                           ? fmt::format("'{}' stands alone", engine.name)
                           : fmt::format("'{}' agrees with {}", engine.name, quoted(engine.agrees_with));
    if (engine.first_difference)
      part += fmt::format(", and differs from '{}' on", engine.first_difference->value);
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace vernier
