#include "vernier/run/comparison_run.h"

#include "vernier/run/dataflow.h"
#include "vernier/run/label_counter.h"
#include "vernier/run/sample_judge.h"

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

class ComparisonRun {
 public:
  ComparisonRun(const ComparisonJob& job, DataSource& data) : job_(job), data_(data), judge_(job) {
    for (size_t i = 0; i < job.runners.size(); ++i) {
      options_.push_back(options_against(job.runners[i]->random_generator()));
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
        judge_.judge(comparisons_[i], options_[i], job_.runners[i], sample, *reference, *actual);
    }
    if (!sample.expected || !reference) return true;
    const CompareOptions options = options_against("");
    if (!expected_) expected_.emplace(options);
    Trace outputs = *reference;
    std::erase_if(outputs.entries, [](const TraceEntry& entry) { return !entry.is_output; });
    judge_.judge(*expected_, options, nullptr, sample, outputs,
                 expected_trace(*sample.expected, outputs, index));
    return true;
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
  return ComparisonRun(job, data).run();
}

}  // namespace vernier
