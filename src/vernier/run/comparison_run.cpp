#include "vernier/run/comparison_run.h"

#include <algorithm>

#include "vernier/base/memory.h"
#include "vernier/run/dataflow.h"
#include "vernier/run/sample_judge.h"

namespace vernier {

namespace {

// Makes a trace of what came with the data, in the order of the trace that it is held against.
Trace expected_trace(const NamedData& expected, const Trace& like, size_t sample) {
  Trace trace;
  trace.runner = "expected";
  trace.run_id = "expected";
  trace.sample = sample;
  for (const TraceEntry& known : like.entries) {
    const auto found = expected.find(known.value);
    if (found == expected.end()) continue;
    TraceEntry entry = known;
    entry.datum = found->second;
    // A reference may hold more digits than the model declares; data are to be what they say.
    if (entry.datum.is_tensor()) entry.declared = entry.datum.tensor.type();
    trace.entries.push_back(std::move(entry));
  }
  for (const auto& [name, datum] : expected) {
    if (like.find(name) == nullptr) trace.entries.push_back({name, datum, true, ElementType::kUndefined, {}});
  }
  return trace;
}

// Outputs, and of the inner values those in `names`.
Trace shown_of(const Trace& trace, const std::set<std::string>& names) {
  Trace shown = trace;
  std::erase_if(shown.entries,
                [&](const TraceEntry& entry) { return !entry.is_output && !names.contains(entry.value); });
  return shown;
}

class ComparisonRun {
 public:
  ComparisonRun(const ComparisonJob& job, DataSource& data) : job_(job), data_(data), judge_(job) {
    for (size_t i = 0; i < job.runners.size(); ++i) {
      options_.push_back(options_against(job.runners[i]->random_generator()));
      options_.back().actual_may_hold_double = job.references.contains(i);
      comparisons_.emplace_back(options_[i]);
    }
    if (job.labels) labels_.emplace(*job.labels, job.runners);
  }

  ComparisonOutcome run() {
    size_t index = 0;
    while (auto sample = data_.next()) index += run_sample(*sample, index) ? 1 : 0;
    if (index == 0) throw bad_input("the data hold no sample");
    for (size_t i = 0; i < job_.runners.size(); ++i) {
      if (i == job_.against) continue;
      outcome_.comparisons.push_back(named(comparisons_[i].result(), i));
      judge_.add_notes(comparisons_[i], outcome_.comparisons.back());
    }
    if (expected_) {
      outcome_.comparisons.push_back(expected_->result());
      judge_.add_notes(*expected_, outcome_.comparisons.back());
    }
    if (labels_ && outcome_.failures.empty()) outcome_.accuracies = labels_->result();
    outcome_.noise = judge_.noise().of_outputs();
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
    if (!judge_.noise().failure().empty())
      result.notes.push_back("rounding noise could not be measured: " + judge_.noise().failure());
    return result;
  }

  // Taps also show what is compared with values that came with the data.
  std::vector<std::string> taps_of(size_t runner, const Sample& sample) const {
    std::vector<std::string> taps = job_.taps;
    if (runner != job_.against || !sample.expected || job_.model == nullptr) return taps;
    for (const auto& node : job_.model->graph->nodes()) {
      for (const Value* output : node->outputs) {
        if (output != nullptr && sample.expected->contains(output->name) &&
            std::find(taps.begin(), taps.end(), output->name) == taps.end())
          taps.push_back(output->name);
      }
    }
    return taps;
  }

  std::optional<Trace> trace_of(size_t runner, const Sample& sample, size_t index) {
    if (job_.progress) job_.progress(index, job_.runners[runner]->name());
    try {
      Trace trace = job_.runners[runner]->run(sample.inputs, taps_of(runner, sample));
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

  // False if the data took the sample back because the model refuses it.
  bool run_sample(const Sample& sample, size_t index) {
    withdrawn_ = false;
    const auto full = trace_of(job_.against, sample, index);
    if (withdrawn_) return false;
    const auto reference =
        full ? std::optional(shown_of(*full, {job_.taps.begin(), job_.taps.end()})) : std::nullopt;
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
        judge_.judge(comparisons_[i], options_[i], job_.runners[i], sample, *reference, *actual);
    }
    if (sample.expected && full) compare_with_expected(sample, *full, index);
    return true;
  }

  void compare_with_expected(const Sample& sample, const Trace& reference, size_t index) {
    CompareOptions options = options_against("");
    options.actual_may_hold_double = job_.references.contains(job_.against);
    if (!expected_) expected_.emplace(options);
    std::set<std::string> names;
    for (const auto& [name, datum] : *sample.expected) names.insert(name);
    const Trace shown = shown_of(reference, names);
    judge_.judge(*expected_, options, nullptr, sample, shown, expected_trace(*sample.expected, shown, index));
  }

  const ComparisonJob& job_;
  DataSource& data_;
  SampleJudge judge_;
  ComparisonOutcome outcome_;
  std::vector<CompareOptions> options_;  // by runner
  std::vector<Comparison> comparisons_;
  std::optional<Comparison> expected_;
  std::optional<LabelCounter> labels_;
  std::string failure_;     // why a run failed
  bool withdrawn_ = false;  // the sample at hand
};

}  // namespace

ComparisonOutcome run_and_compare(const ComparisonJob& job, DataSource& data) {
  if (job.runners.empty()) throw usage_error("no runner is given");
  const KeptMemory kept;  // from one run of the reference to the next
  return ComparisonRun(job, data).run();
}

std::vector<ComparisonResult> judge_recorded(const std::vector<RecordedRun>& runs, size_t against,
                                             const CompareOptions& options) {
  std::vector<ComparisonResult> results;
  const RecordedRun& reference = runs.at(against);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i == against) continue;
    Comparison comparison(options);
    for (size_t sample = 0; sample < std::max(reference.samples, runs[i].samples); ++sample) {
      if (sample >= reference.samples) {
        comparison.add_failure(Comparison::Side::kReference, sample,
                               fmt::format("'{}' has no sample {}", reference.name, sample));
      } else if (sample >= runs[i].samples) {
        comparison.add_failure(Comparison::Side::kActual, sample,
                               fmt::format("'{}' has no sample {}", runs[i].name, sample));
      } else {
        comparison.add(reference.trace(sample), runs[i].trace(sample));
      }
    }
    results.push_back(comparison.result());
    results.back().reference = reference.name;
    results.back().actual = runs[i].name;
  }
  return results;
}

}  // namespace vernier
