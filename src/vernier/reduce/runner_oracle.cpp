#include "vernier/reduce/runner_oracle.h"

#include <algorithm>
#include <cmath>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/base/file.h"
#include "vernier/compare/distance.h"
#include "vernier/exec/runner_decorator.h"
#include "vernier/onnx/export.h"

namespace vernier {

namespace {

// Keeps what a run says when it fails: verdicts of a comparison have it with more around it.
class HeardRunner : public RunnerDecorator {
 public:
  explicit HeardRunner(Runner& runner) : RunnerDecorator(runner) {}

  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    const bool is_first = !std::exchange(has_run_, true);
    try {
      return decorated().run(inputs, taps);
    } catch (const Error& error) {
      if (is_first) failure_ = error.message();
      throw;
    }
  }

  const std::string& failure() const { return failure_; }

 private:
  bool has_run_ = false;
  std::string failure_;  // of the first run
};

// The part of the content that differs, as Symptom::error has it; beyond all bounds for NaN or Inf on one
// side.
double error_of(const Tensor& right, const Tensor& made) {
  if (right.dims() != made.dims()) return 1;
  const bool are_numbers = (is_float(right.type()) || is_integer(right.type())) &&
                           (is_float(made.type()) || is_integer(made.type()));
  if (!are_numbers) return right.identical(made) ? 0 : 1;
  const double relative = relative_l2_of(right, made);
  return std::isnan(relative) ? 0 : relative;
}

void fit_outputs(const Graph& graph, ToleranceOption& option) {
  std::optional<double> largest;
  std::erase_if(option.named, [&](const auto& each) {
    const bool is_there = std::any_of(graph.outputs.begin(), graph.outputs.end(),
                                      [&](const Value* output) { return output->name == each.first; });
    if (!is_there) largest = std::max(largest.value_or(0), each.second);
    return !is_there;
  });
  if (!option.general) option.general = largest;
}

}  // namespace

Tolerances tolerances_for(const Graph& graph, Tolerances given) {
  fit_outputs(graph, given.atol);
  fit_outputs(graph, given.rtol);
  return given;
}

std::unique_ptr<Runner> RunnerOracle::make_against(const RunnerModel& model) const {
  if (options_.against) return options_.against(model, options_.seconds);
  return std::make_unique<ReferenceRunner>(model);
}

void RunnerOracle::describe(Runner& runner) {
  auto description = runner.description();
  if (!description.empty()) descriptions_[runner.name()] = std::move(description);
}

Judgement RunnerOracle::judge_file(const std::filesystem::path& path, const ReproCase& reproduction) {
  const RunnerModel model{path, &reproduction.model};
  const auto against = make_against(model);
  const auto engine = options_.engine(model, options_.seconds);
  for (Runner* runner : {against.get(), engine.get()}) runner->limit_time(options_.seconds);
  HeardRunner heard(*engine);
  ComparisonJob job;
  job.runners = {against.get(), &heard};
  job.compare = options_.compare;
  job.compare.tolerances = tolerances_for(*reproduction.model.graph, options_.compare.tolerances);
  std::erase_if(job.compare.constant_values, [&](const std::string& name) {
    return find_value(*reproduction.model.graph, name) == nullptr;
  });
  job.model = &reproduction.model;
  job.derive_bounds = options_.derive_bounds;
  job.seed = options_.seed;
  Judgement judgement;
  job.observe = [&](size_t runner, const NamedData&, const Trace& trace) {
    (runner == 0 ? judgement.expected : judgement.actual) = outputs_of(trace);
  };
  CaseData data(reproduction);
  const ComparisonOutcome outcome = run_and_compare(job, data);
  const ComparisonResult& comparison = outcome.comparisons.at(0);
  judgement.symptom = symptom_of(comparison, heard.failure());
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.is_output) judgement.tolerances[tensor.value] = tensor.tolerance;
  }
  judgement.notes = comparison.notes;
  if (judgement.symptom.kind == Symptom::Kind::kNone)
    judgement.notes.insert(judgement.notes.end(), comparison.reasons.begin(), comparison.reasons.end());
  describe(*against);
  describe(*engine);
  return judgement;
}

Judgement RunnerOracle::judge(const ReproCase& reproduction) {
  try {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.onnx";
    export_model(reproduction.model, path);
    return judge_file(path, reproduction);
  } catch (const Error&) {
    return {};  // no case: what it would be compared with does not run it, or the runner has no use for it
  }
}

std::vector<std::string> RunnerOracle::first_wrong_nodes(const ReproCase& reproduction,
                                                         const NamedData& known, const Symptom& symptom) {
  if (symptom.kind != Symptom::Kind::kWrong && symptom.kind != Symptom::Kind::kNotFinite) return {};
  std::vector<std::string> taps;
  size_t bytes = 0;
  for (const auto& node : reproduction.model.graph->nodes()) {
    for (const Value* output : node->outputs) {
      const auto found = output == nullptr ? known.end() : known.find(output->name);
      if (found == known.end() || !found->second.is_tensor() || !found->second.tensor.is_defined()) continue;
      taps.push_back(output->name);
      bytes += found->second.tensor.byte_size();
    }
  }
  constexpr size_t kMostBytes = size_t{1} << 30;  // a runner sends them all in one file
  if (bytes > kMostBytes) return {};
  try {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.onnx";
    export_model(reproduction.model, path);
    const auto engine = options_.engine({path, &reproduction.model}, options_.seconds);
    engine->limit_time(options_.seconds);
    const Trace trace = engine->run(reproduction.inputs, taps);
    for (const std::string& tap : taps) {
      const TraceEntry* entry = trace.find(tap);
      if (entry == nullptr || !entry->datum.is_tensor()) continue;
      if (error_of(known.at(tap).tensor, entry->datum.tensor) >= kComparableError * symptom.error)
        return entry->nodes;
    }
  } catch (const Error&) {
    // It shows nothing of its inside.
  }
  return {};
}

}  // namespace vernier
