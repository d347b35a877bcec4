#include "vernier/run/comparison_run.h"

#include <algorithm>
#include <cmath>

#include "vernier/run/noise.h"

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

class LabelCounter {
 public:
  LabelCounter(const Labels& labels, const std::vector<Runner*>& runners) : labels_(labels) {
    for (Runner* runner : runners) accuracies_.push_back({runner->name(), 0, 0});
    next_.resize(runners.size());
  }

  void add(size_t runner, const Trace& trace) {
    const TraceEntry* entry = nullptr;
    for (const TraceEntry& candidate : trace.entries) {
      if (candidate.is_output && (labels_.output.empty() || candidate.value == labels_.output)) {
        entry = &candidate;
        break;
      }
    }
    if (entry == nullptr) throw usage_error("--labels: no output '{}'", labels_.output);
    const Tensor& tensor = entry->datum.as_tensor();
    if (tensor.rank() < 1 || tensor.dims().back() < 2)
      throw usage_error("--labels: output '{}' of sizes {} has no classes", entry->value,
                        dims_text(tensor.dims()));
    const auto values = tensor.to_doubles();
    const auto classes = static_cast<size_t>(tensor.dims().back());
    for (size_t row = 0; row < values.size(); row += classes) {
      if (next_[runner] >= labels_.classes.size())
        throw usage_error("--labels holds {} labels, but the data have more rows", labels_.classes.size());
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row),
                 end = begin + static_cast<std::ptrdiff_t>(classes);
      const bool has_nan = std::any_of(begin, end, [](double value) { return std::isnan(value); });
      const auto best = std::max_element(begin, end) - begin;
      accuracies_[runner].right += !has_nan && best == labels_.classes[next_[runner]];
      ++accuracies_[runner].rows;
      ++next_[runner];
    }
  }

  std::vector<Accuracy> result() const {
    for (size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] != labels_.classes.size())
        throw usage_error("--labels holds {} labels, but {} made {} rows", labels_.classes.size(),
                          accuracies_[i].runner, next_[i]);
    }
    return accuracies_;
  }

 private:
  const Labels& labels_;
  std::vector<Accuracy> accuracies_;
  std::vector<size_t> next_;
};

// Runs with noise that the failing values are worth: the largest move of a value of few elements is known
// from many runs only.
uint64_t noise_runs_worth(const ComparisonResult& failing, uint64_t least) {
  constexpr int64_t kEnoughElements = 128;  // over all runs
  constexpr uint64_t kMostTimes = 8;
  int64_t fewest = kEnoughElements;
  for (const TensorComparison& tensor : failing.tensors) {
    if (tensor.verdict == Verdict::kFail) fewest = std::min(fewest, element_count(tensor.dims));
  }
  const auto enough = static_cast<uint64_t>(kEnoughElements / std::max<int64_t>(1, fewest));
  return std::clamp(enough, least, kMostTimes * least);
}

class ComparisonRun {
 public:
  ComparisonRun(const ComparisonJob& job, DataSource& data) : job_(job), data_(data) {
    for (size_t i = 0; i < job.runners.size(); ++i) comparisons_.emplace_back(job.compare);
    if (job.labels) labels_.emplace(*job.labels, job.runners);
  }

  ComparisonOutcome run() {
    size_t index = 0;
    while (auto sample = data_.next()) index += run_sample(*sample, index) ? 1 : 0;
    if (index == 0) throw bad_input("the data hold no sample");
    for (size_t i = 0; i < job_.runners.size(); ++i) {
      if (i != job_.against) outcome_.comparisons.push_back(named(comparisons_[i].result(), i));
    }
    if (expected_) outcome_.comparisons.push_back(expected_->result());
    if (labels_ && outcome_.failures.empty()) outcome_.accuracies = labels_->result();
    return std::move(outcome_);
  }

 private:
  // A runner that never yielded a trace has no name in its comparison yet.
  ComparisonResult named(ComparisonResult result, size_t runner) const {
    if (result.actual.empty()) result.actual = job_.runners[runner]->name();
    if (result.reference.empty()) result.reference = job_.runners[job_.against]->name();
    if (!no_noise_.empty()) result.notes.push_back("rounding noise could not be measured: " + no_noise_);
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

  // How far rounding noise moves the reference itself, at most, over the runs with noise so far; measured
  // where a comparison fails. A near tie that decides an order turns over in some of them only. False if
  // there is no more to learn.
  bool measure_noise(const Sample& sample, const Trace& reference, const ComparisonResult& so_far) {
    if (noise_runs_ >= noise_runs_worth(so_far, job_.noise_runs)) return false;
    const uint64_t seed = job_.seed + noise_runs_++;
    try {
      const auto noisy = job_.runners[job_.against]->run_with_noise(sample.inputs, job_.taps, seed);
      if (!noisy) return false;
      for (const auto& [value, floor] : noise_floor(reference, *noisy)) {
        NoiseFloor& largest = floor_[value];
        largest.relative_l2 = std::max(largest.relative_l2, floor.relative_l2);
        largest.max_abs = std::max(largest.max_abs, floor.max_abs);
        largest.unit_roundoff = std::max(largest.unit_roundoff, floor.unit_roundoff);
      }
    } catch (const Error& error) {
      no_noise_ = error.what();  // the verdict stands on the tolerance alone
      return false;
    }
    for (const TraceEntry& entry : reference.entries) {
      if (!entry.is_output || !floor_.contains(entry.value)) continue;
      double& largest = outcome_.noise[entry.value];
      largest = std::max(largest, floor_.at(entry.value).relative_l2);
    }
    return true;
  }

  void judge(Comparison& comparison, const Sample& sample, const Trace& reference, const Trace& actual) {
    if (noise_sample_ != reference.sample) {
      floor_.clear();
      noise_runs_ = 0;
      noise_sample_ = reference.sample;
    }
    CompareOptions options = job_.compare;
    options.noise_floor = floor_;
    auto result = compare(reference, actual, options);
    while (result.verdict == Verdict::kFail || (result.verdict != Verdict::kPass && noise_runs_ == 0)) {
      if (!measure_noise(sample, reference, result)) break;
      options.noise_floor = floor_;
      result = compare(reference, actual, options);
    }
    comparison.set_noise_floor(floor_);
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
        judge(comparisons_[i], sample, *reference, *actual);
    }
    if (!sample.expected || !reference) return true;
    if (!expected_) expected_.emplace(job_.compare);
    Trace outputs = *reference;
    std::erase_if(outputs.entries, [](const TraceEntry& entry) { return !entry.is_output; });
    judge(*expected_, sample, outputs, expected_trace(*sample.expected, outputs, index));
    return true;
  }

  const ComparisonJob& job_;
  DataSource& data_;
  ComparisonOutcome outcome_;
  std::vector<Comparison> comparisons_;
  std::optional<Comparison> expected_;
  std::optional<LabelCounter> labels_;
  std::optional<size_t> noise_sample_;
  uint64_t noise_runs_ = 0;
  std::map<std::string, NoiseFloor> floor_;
  std::string failure_, no_noise_;  // why a run failed, and why one with noise did
  bool withdrawn_ = false;          // the sample at hand
};

}  // namespace

ComparisonOutcome run_and_compare(const ComparisonJob& job, DataSource& data) {
  if (job.runners.empty()) throw usage_error("no runner is given");
  return ComparisonRun(job, data).run();
}

}  // namespace vernier
