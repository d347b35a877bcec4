#include "vernier/run/comparison_run.h"

#include <algorithm>
#include <cmath>

#include "vernier/run/dataflow.h"
#include "vernier/run/decisions.h"
#include "vernier/run/label_counter.h"
#include "vernier/run/measured_noise.h"

namespace vernier {

namespace {

// Outputs that came with the data, as if a runner had made them.
Trace expected_trace(const NamedData& expected, const Trace& like, size_t sample) {
  Trace trace;
  trace.runner = "expected";
  trace.run_id = "expected";
  trace.sample = sample;
  for (const auto& [name, datum] : expected) {
    TraceEntry entry;
    entry.value = name;
    entry.datum = datum;
    entry.is_output = true;
    if (const TraceEntry* known = like.find(name)) entry.declared = known->declared;
    trace.entries.push_back(std::move(entry));
  }
  return trace;
}

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

class ComparisonRun {
 public:
  ComparisonRun(const ComparisonJob& job, DataSource& data) : job_(job), data_(data), noise_(job) {
    for (size_t i = 0; i < job.runners.size(); ++i) {
      options_.push_back(options_against(job.runners[i]->random_generator()));
      comparisons_.emplace_back(options_[i]);
    }
    if (job.model != nullptr) decisions_.emplace(*job.model->graph);
    if (job.labels) labels_.emplace(*job.labels, job.runners);
  }

  ComparisonOutcome run() {
    size_t index = 0;
    while (auto sample = data_.next()) index += run_sample(*sample, index) ? 1 : 0;
    if (index == 0) throw bad_input("the data hold no sample");
    for (size_t i = 0; i < job_.runners.size(); ++i) {
      if (i == job_.against) continue;
      outcome_.comparisons.push_back(named(comparisons_[i].result(), i));
      add_notes(comparisons_[i], outcome_.comparisons.back());
    }
    if (expected_) {
      outcome_.comparisons.push_back(expected_->result());
      add_notes(*expected_, outcome_.comparisons.back());
    }
    if (labels_ && outcome_.failures.empty()) outcome_.accuracies = labels_->result();
    outcome_.noise = noise_.of_outputs();
    return std::move(outcome_);
  }

 private:
  // Two runners of one generator draw the same numbers, and so what follows is compared.
  CompareOptions options_against(const std::string& generator) const {
    CompareOptions options = job_.compare;
    const std::string own = job_.runners[job_.against]->random_generator();
    if (job_.model != nullptr && (own.empty() || own != generator))
      options.random_values = random_values(*job_.model->graph);
    return options;
  }

  // A runner that never yielded a trace has no name in its comparison yet.
  ComparisonResult named(ComparisonResult result, size_t runner) const {
    if (result.actual.empty()) result.actual = job_.runners[runner]->name();
    if (result.reference.empty()) result.reference = job_.runners[job_.against]->name();
    if (!noise_.failure().empty())
      result.notes.push_back("rounding noise could not be measured: " + noise_.failure());
    return result;
  }

  void add_notes(const Comparison& comparison, ComparisonResult& result) const {
    const auto found = undecided_.find(&comparison);
    if (found != undecided_.end())
      result.notes.insert(result.notes.end(), found->second.begin(), found->second.end());
  }

  // What fails may do so by a tie that cannot be seen; whoever reads the verdict should know.
  void note_unseen_ties(const Comparison& comparison, const Runner* runner, const ComparisonResult& result) {
    if (!decisions_ || result.verdict != Verdict::kFail) return;
    const auto values = differing(result);
    const auto inside = decisions_->inside_bodies(values);
    if (!inside.empty()) {
      const std::string more = inside.size() > 1 ? fmt::format(" and {} more", inside.size() - 1) : "";
      undecided_[&comparison].insert(fmt::format(
          "a difference may come from a tie of {}{}, but ties inside of bodies are not looked for", inside[0],
          more));
    }
    const bool is_recorded = runner == nullptr || !runner->can_repeat();
    if (is_recorded && !decisions_->taps(values, true).empty())
      undecided_[&comparison].insert(
          "a difference may come from a tie, but recorded data do not show how decisions came out: "
          "only some of the nearest were tried the other way");
  }

  std::optional<Trace> trace_of(size_t runner, const Sample& sample, size_t index) {
    if (job_.progress) job_.progress(index, job_.runners[runner]->name());
    try {
      Trace trace = job_.runners[runner]->run(sample.inputs, job_.taps);
      trace.sample = index;
      if (job_.observe) job_.observe(runner, sample.inputs, trace);
      return trace;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw;  // no matter of what is compared
      if (runner == job_.against && data_.withdraw(error)) {
        outcome_.withdrawn.push_back(fmt::format("{}: {}", sample.origin, error.what()));
        withdrawn_ = true;
        return std::nullopt;
      }
      if (runner == job_.against && index == 0) throw;
      outcome_.failures.push_back(
          fmt::format("{}, sample {}: {}", job_.runners[runner]->name(), index, error.what()));
      failure_ = error.what();
      return std::nullopt;
    }
  }

  // Inner values to be shown: what was asked for, and what is needed of decisions behind these values.
  std::vector<std::string> taps_for(const std::set<std::string>& values, bool quantised) const {
    std::vector<std::string> taps = job_.taps;
    if (!decisions_) return taps;
    for (const std::string& tap : decisions_->taps(values, quantised)) {
      if (std::find(taps.begin(), taps.end(), tap) == taps.end()) taps.push_back(tap);
    }
    return taps;
  }

  // What the actual side shows of decisions: by another run with more taps, where it can be repeated.
  Trace shown_by(Runner* runner, const Sample& sample, const Trace& actual,
                 const std::vector<std::string>& taps) {
    if (runner == nullptr || !runner->can_repeat()) return actual;
    try {
      return runner->run(sample.inputs, taps);
    } catch (const Error&) {
      return actual;  // it ran without these taps, and is judged by that
    }
  }

  // Takes the decisions behind what differs as the actual side took them, where they were ties. Nothing if
  // that makes no value agree, or any worse. `result` becomes what it is judged by then.
  std::optional<Retaken> retake(Runner* runner, const Sample& sample, const Trace& reference,
                                const Trace& actual, const CompareOptions& options, ComparisonResult& result,
                                bool quantised) {
    const auto values = differing(result);
    if (!decisions_ || decisions_->taps(values, quantised).empty()) return std::nullopt;
    const auto taps = taps_for(values, quantised);
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
      return mismatches(compare(trimmed(trace), actual, judging));
    };
    auto retaken = decisions_->retake(values, sample.inputs, run, shown_by(runner, sample, actual, taps),
                                      disagreement, options, quantised);
    if (retaken && !retaken->clear.empty()) is_clear_ = true;
    if (!retaken || !retaken->reference) return std::nullopt;
    retaken->reference = trimmed(std::move(*retaken->reference));
    auto better = compare(*retaken->reference, actual, judging);
    // By the same noise: that of runs which turned a decision over explains too much.
    const auto as_it_was = compare(reference, actual, judging);
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

  // `runner` is what yielded the actual trace; null for outputs that came with the data.
  void judge(Comparison& comparison, CompareOptions options, Runner* runner, const Sample& sample,
             const Trace& reference, const Trace& actual) {
    noise_.begin(reference.sample);
    is_clear_ = false;
    const std::set<std::string> decided = decisions_ ? decisions_->results() : std::set<std::string>();
    std::optional<Retaken> retaken;
    // A decision that differs by no tie is not explained by runs in which noise turned decisions over.
    const auto floor = [&] {
      return retaken || is_clear_ ? noise_.floor_of_same_decisions() : noise_.floor();
    };
    const auto judged = [&] {
      options.noise_floor = floor();
      return compare(retaken ? *retaken->reference : reference, actual, options);
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
      auto without = compare(reference, actual, options);
      if (without.verdict != Verdict::kFail) {
        retaken.reset();
        result = std::move(without);
      }
    }
    note_unseen_ties(comparison, runner, result);
    comparison.set_noise_floor(floor());
    if (retaken)
      comparison.add(*retaken->reference, actual, retaken->decisions);
    else
      comparison.add(reference, actual);
  }

  // False if the data took the sample back because the model refuses it.
  bool run_sample(const Sample& sample, size_t index) {
    withdrawn_ = false;
    const auto reference = trace_of(job_.against, sample, index);
    if (withdrawn_) return false;
    outcome_.samples.push_back(sample.origin);
    for (const std::string& note : sample.notes)
      outcome_.notes.push_back(fmt::format("sample {}: {}", index, note));
    if (outcome_.drawn.empty()) outcome_.drawn = sample.drawn;
    if (labels_ && reference) labels_->add(job_.against, *reference);
    for (size_t i = 0; i < job_.runners.size(); ++i) {
      if (i == job_.against) continue;
      const std::string reference_failure = failure_;
      const auto actual = trace_of(i, sample, index);
      if (labels_ && actual) labels_->add(i, *actual);
      if (!reference)
        comparisons_[i].add_failure(Comparison::Side::kReference, index, reference_failure);
      else if (!actual)
        comparisons_[i].add_failure(Comparison::Side::kActual, index, failure_);
      else
        judge(comparisons_[i], options_[i], job_.runners[i], sample, *reference, *actual);
    }
    if (!sample.expected || !reference) return true;
    const CompareOptions options = options_against("");
    if (!expected_) expected_.emplace(options);
    Trace outputs = *reference;
    std::erase_if(outputs.entries, [](const TraceEntry& entry) { return !entry.is_output; });
    judge(*expected_, options, nullptr, sample, outputs, expected_trace(*sample.expected, outputs, index));
    return true;
  }

  const ComparisonJob& job_;
  DataSource& data_;
  ComparisonOutcome outcome_;
  std::vector<CompareOptions> options_;  // by runner
  std::vector<Comparison> comparisons_;
  std::optional<Decisions> decisions_;  // of the model, if it is known
  std::optional<Comparison> expected_;
  std::optional<LabelCounter> labels_;
  std::map<const Comparison*, std::set<std::string>> undecided_;  // notes on ties that could not be seen
  MeasuredNoise noise_;
  std::string failure_;     // why a run failed
  bool withdrawn_ = false;  // the sample at hand
  bool is_clear_ = false;   // whether the comparison at hand has a decision that differs by no tie
};

}  // namespace

ComparisonOutcome run_and_compare(const ComparisonJob& job, DataSource& data) {
  if (job.runners.empty()) throw usage_error("no runner is given");
  return ComparisonRun(job, data).run();
}

}  // namespace vernier
