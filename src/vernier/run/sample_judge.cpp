#include "vernier/run/sample_judge.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/decided_rows.h"

namespace vernier {

namespace {

// Values that differ by more than they may.
std::set<std::string> differing(const ComparisonResult& result) {
  std::set<std::string> values;
  for (const TensorComparison& tensor : result.tensors) {
    if (tensor.verdict == Verdict::kFail ||
        (tensor.verdict == Verdict::kMistrusted && tensor.metrics.mismatching > 0))
      values.insert(tensor.value);
  }
  return values;
}

// Elements that differ; a value of which none could be compared counts as one.
int64_t mismatches(const ComparisonResult& result) {
  int64_t count = 0;
  for (const TensorComparison& tensor : result.tensors) {
    if (tensor.verdict == Verdict::kFail) count += std::max<int64_t>(1, tensor.metrics.mismatching);
  }
  return count;
}

// Whether everything that fails does so by a tolerance of the user, which nothing may widen.
bool all_by_user(const ComparisonResult& result) {
  return std::all_of(result.tensors.begin(), result.tensors.end(), [](const TensorComparison& tensor) {
    return tensor.verdict != Verdict::kFail || tensor.tolerance.by_user;
  });
}

// Inner values that fail for want of a tolerance.
std::set<std::string> failing_inside(const ComparisonResult& result) {
  std::set<std::string> values;
  for (const TensorComparison& tensor : result.tensors) {
    if (!tensor.is_output && tensor.verdict == Verdict::kFail && !tensor.tolerance.by_user)
      values.insert(tensor.value);
  }
  return values;
}

// By output, relative L2: the error that the tolerance of its type accepts.
std::map<std::string, double> accepted_errors(const ComparisonResult& result) {
  std::map<std::string, double> needs;
  for (const TensorComparison& tensor : result.tensors) {
    if (tensor.is_output && tensor.verdict == Verdict::kPass && !tensor.tolerance.by_user &&
        is_float(tensor.type) && tensor.metrics.mismatching == 0 && tensor.metrics.distances)
      needs[tensor.value] = tensor.metrics.distances->relative_l2;
  }
  return needs;
}

// The run is compared with what came with the data (`runner` is null), and not the other way round.
ComparisonResult compared(const Runner* runner, const Trace& reference, const Trace& actual,
                          const CompareOptions& options) {
  return runner == nullptr ? compare(actual, reference, options) : compare(reference, actual, options);
}

}  // namespace

SampleJudge::SampleJudge(const ComparisonJob& job) : job_(job), noise_(job) {
  if (job.model != nullptr) decisions_.emplace(*job.model->graph);
}

void SampleJudge::add_notes(const Comparison& comparison, ComparisonResult& result) const {
  const auto found = undecided_.find(&comparison);
  if (found != undecided_.end())
    result.notes.insert(result.notes.end(), found->second.begin(), found->second.end());
}

void SampleJudge::note_unseen_ties(const Comparison& comparison, const Runner* runner,
                                   const ComparisonResult& result) {
  if (!decisions_ || result.verdict != Verdict::kFail) return;
  const auto values = differing(result);
  const auto inside = decisions_->inside_bodies(values);
  if (!inside.empty()) {
    const std::string more = inside.size() > 1 ? fmt::format(" and {} more", inside.size() - 1) : "";
    undecided_[&comparison].insert(
        fmt::format("a difference may come from a tie of {}{}, but ties inside of bodies are not looked for",
                    inside[0], more));
  }
  const bool is_recorded = runner == nullptr || !runner->can_repeat();
  if (is_recorded && !decisions_->taps(values, true).empty())
    undecided_[&comparison].insert(
        "a difference may come from a tie, but recorded data do not show how decisions came out: "
        "only some of the nearest were tried the other way");
}

std::vector<std::string> SampleJudge::taps_for(const std::set<std::string>& values, bool quantized) const {
  std::vector<std::string> taps = job_.taps;
  if (!decisions_) return taps;
  for (const std::string& tap : decisions_->taps(values, quantized)) {
    if (std::find(taps.begin(), taps.end(), tap) == taps.end()) taps.push_back(tap);
  }
  return taps;
}

Trace SampleJudge::shown_by(Runner* runner, const Sample& sample, const Trace& actual,
                            const std::vector<std::string>& taps) {
  if (runner == nullptr || !runner->can_repeat()) return actual;
  try {
    return runner->run(sample.inputs, taps);
  } catch (const Error&) {
    return actual;  // it ran without these taps, and is judged by that
  }
}

std::optional<Retaken> SampleJudge::retake(Runner* runner, const Sample& sample, const Trace& reference,
                                           const Trace& actual, const CompareOptions& options,
                                           ComparisonResult& result, bool quantized) {
  const auto values = differing(result);
  if (!decisions_ || decisions_->taps(values, quantized).empty()) return std::nullopt;
  const auto taps = taps_for(values, quantized);
  const auto run = [&](const NamedData& taken) -> std::optional<Trace> {
    try {
      return job_.runners[job_.against]->run_with_values(sample.inputs, taps, taken, std::nullopt);
    } catch (const Error&) {
      return std::nullopt;  // the model does not bear what the other side decided
    }
  };
  CompareOptions judging = options;
  judging.noise_floor = noise_.floor_of_same_decisions();
  const auto trimmed = [&](Trace trace) {
    trace.runner = reference.runner;
    trace.sample = reference.sample;
    std::erase_if(trace.entries,
                  [&](const TraceEntry& entry) { return reference.find(entry.value) == nullptr; });
    return trace;
  };
  const auto disagreement = [&](const Trace& trace) {
    return mismatches(compared(runner, trimmed(trace), actual, judging));
  };
  auto retaken = decisions_->retake(values, sample.inputs, run, shown_by(runner, sample, actual, taps),
                                    disagreement, options, quantized);
  if (retaken && !retaken->clear.empty()) is_clear_ = true;
  if (!retaken || !retaken->reference) return std::nullopt;
  retaken->reference = trimmed(std::move(*retaken->reference));
  auto better = compared(runner, *retaken->reference, actual, judging);
  // By the same noise: that of runs which turned a decision over explains too much.
  const auto as_it_was = compared(runner, reference, actual, judging);
  if (better.tensors.size() != as_it_was.tensors.size()) return std::nullopt;
  bool agrees = false;
  for (size_t i = 0; i < better.tensors.size(); ++i) {
    const Verdict before = as_it_was.tensors.at(i).verdict, after = better.tensors[i].verdict;
    if (after > before) return std::nullopt;
    agrees = agrees || after < before;
  }
  if (!agrees) return std::nullopt;
  result = std::move(better);
  return retaken;
}

void SampleJudge::judge(Comparison& comparison, CompareOptions options, Runner* runner, const Sample& sample,
                        const Trace& reference, const Trace& actual) {
  noise_.begin(reference.sample);
  is_clear_ = false;
  const std::set<std::string> decided = decisions_ ? decisions_->results() : std::set<std::string>();
  std::optional<Retaken> retaken;
  // A decision that differs by no tie is not explained by runs in which noise turned decisions over.
  const auto floor = [&] { return retaken || is_clear_ ? noise_.floor_of_same_decisions() : noise_.floor(); };
  const auto judged = [&] {
    options.noise_floor = floor();
    return compared(runner, retaken ? *retaken->reference : reference, actual, options);
  };
  auto result = judged();
  retaken = retake(runner, sample, reference, actual, options, result, false);
  while (result.verdict == Verdict::kFail || (result.verdict != Verdict::kPass && !noise_.has_run())) {
    if (!noise_.measure(sample, reference, taps_for(differing(result), true), decided, result)) break;
    result = judged();
  }
  if (!retaken && noise_.has_run())
    retaken = retake(runner, sample, reference, actual, options, result, false);
  if (!retaken && is_clear_) result = judged();
  if (result.verdict == Verdict::kFail) {
    options.noise_floor = noise_.floor();
    if (auto more = retake(runner, sample, reference, actual, options, result, true))
      retaken = std::move(more);
  }
  if (retaken && result.verdict == Verdict::kFail && !is_clear_) {
    // Ties explain a part only, as where hidden decisions differ, too; then noise explains all, or nothing.
    options.noise_floor = noise_.floor();
    auto without = compared(runner, reference, actual, options);
    if (without.verdict != Verdict::kFail) {
      retaken.reset();
      result = std::move(without);
    }
  }
  if (result.verdict == Verdict::kFail && job_.derive_bounds && runner != nullptr && !all_by_user(result)) {
    options.derived_bounds = job_.derive_bounds(*runner, sample.inputs, failing_inside(result));
    result = compared(runner, retaken ? *retaken->reference : reference, actual, options);
    comparison.set_derived_bounds(options.derived_bounds);
  }
  // Ties move values by more than roundings do.
  if (result.verdict != Verdict::kFail && job_.exceeded_bounds && runner != nullptr && !retaken &&
      !is_clear_) {
    if (const auto needs = accepted_errors(result); !needs.empty())
      options.exceeded_bounds = job_.exceeded_bounds(*runner, sample.inputs, needs);
  }
  comparison.set_exceeded_bounds(options.exceeded_bounds);
  note_unseen_ties(comparison, runner, result);
  comparison.set_noise_floor(floor());
  const Trace& judged_by = retaken ? *retaken->reference : reference;
  const DecisionsOfValues decisions = retaken ? retaken->decisions : DecisionsOfValues();
  if (runner == nullptr)
    comparison.add(actual, judged_by, decisions);
  else
    comparison.add(judged_by, actual, decisions);
}

LabelCounter::LabelCounter(const Labels& labels, const std::vector<Runner*>& runners) : labels_(labels) {
  for (Runner* runner : runners) accuracies_.push_back({runner->name(), 0, 0});
  next_.resize(runners.size());
}

int64_t LabelCounter::label(size_t index, size_t classes) const {
  const int64_t label = labels_.classes[index];
  if (label < 0 || label >= static_cast<int64_t>(classes))
    throw bad_input("--labels: label {} at index {} is none of the {} classes", label, index, classes)
        .advise("labels count from 0; a background class shifts them");
  return label;
}

void LabelCounter::add(size_t runner, const Trace& trace) {
  const TraceEntry* entry = nullptr;
  for (const TraceEntry& candidate : trace.entries) {
    if (candidate.is_output && (labels_.output.empty() || candidate.value == labels_.output)) {
      entry = &candidate;
      break;
    }
  }
  if (entry == nullptr) throw usage_error("--labels-output: no output '{}'", labels_.output);
  const Tensor& tensor = entry->datum.as_tensor();
  if (tensor.rank() < 1 || tensor.dims().back() < 2)
    throw usage_error("--labels: output '{}' of sizes {} has no classes", entry->value,
                      dims_text(tensor.dims()));
  const DecidedRows rows(tensor, 0);
  const auto classes = static_cast<size_t>(tensor.dims().back());
  for (size_t row = 0; row < rows.rows(); ++row) {
    if (next_[runner] >= labels_.classes.size())
      throw usage_error("--labels holds {} labels, but the data have more rows", labels_.classes.size());
    accuracies_[runner].right += rows.decided(row) == label(next_[runner], classes);
    ++accuracies_[runner].rows;
    ++next_[runner];
  }
}

std::vector<Accuracy> LabelCounter::result() const {
  for (size_t i = 0; i < next_.size(); ++i) {
    if (next_[i] != labels_.classes.size())
      throw usage_error("--labels holds {} labels, but {} made {} rows", labels_.classes.size(),
                        accuracies_[i].runner, next_[i]);
  }
  return accuracies_;
}

}  // namespace vernier
