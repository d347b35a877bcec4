// Judges what a runner yields for a sample by what the reference yields, with the rounding noise and the
// discrete decisions that may explain a difference. Internal to the room.
#pragma once

#include "vernier/run/comparison_run.h"
#include "vernier/run/decisions.h"
#include "vernier/run/measured_noise.h"

namespace vernier {

class SampleJudge {
 public:
  // The job outlives this.
  explicit SampleJudge(const ComparisonJob& job);

  // Adds the sample to the comparison. `runner` is what yielded the actual trace; null for outputs that came
  // with the data.
  void judge(Comparison& comparison, CompareOptions options, Runner* runner, const Sample& sample,
             const Trace& reference, const Trace& actual);

  // Notes on ties of its samples that could not be seen.
  void add_notes(const Comparison& comparison, ComparisonResult& result) const;
  const MeasuredNoise& noise() const { return noise_; }

 private:
  // Inner values to be shown: what was asked for, and what is needed of decisions behind these values.
  std::vector<std::string> taps_for(const std::set<std::string>& values, bool quantized) const;
  // Gives what the actual side shows of decisions, by another run with more taps, where it can be repeated.
  Trace shown_by(Runner* runner, const Sample& sample, const Trace& actual,
                 const std::vector<std::string>& taps);
  // Takes the decisions behind what differs as the actual side took them, where they were ties. Nothing if
  // that makes no value agree, or any worse. `result` becomes what it is judged by then.
  std::optional<Retaken> retake(Runner* runner, const Sample& sample, const Trace& reference,
                                const Trace& actual, const CompareOptions& options, ComparisonResult& result,
                                bool quantized);
  // Notes that a failure may come from a tie that cannot be seen, which whoever reads the verdict should
  // know.
  void note_unseen_ties(const Comparison& comparison, const Runner* runner, const ComparisonResult& result);

  const ComparisonJob& job_;
  std::optional<Decisions> decisions_;  // of the model, if it is known
  MeasuredNoise noise_;
  std::map<const Comparison*, std::set<std::string>> undecided_;  // notes on ties that could not be seen
  bool is_clear_ = false;  // whether the comparison at hand has a decision that differs by no tie
};

// Counts how often the largest element of a row is its label. Internal to run; see comparison_run.h.
class LabelCounter {
 public:
  LabelCounter(const Labels& labels, const std::vector<Runner*>& runners);

  // The next sample of a runner. Throws usage_error for an output without classes and for too few labels, and
  // bad_input for a label that is no class.
  void add(size_t runner, const Trace& trace);
  // Throws usage_error where labels are left over.
  std::vector<Accuracy> result() const;

 private:
  int64_t label(size_t index, size_t classes) const;

  const Labels& labels_;
  std::vector<Accuracy> accuracies_;
  std::vector<size_t> next_;
};

}  // namespace vernier
