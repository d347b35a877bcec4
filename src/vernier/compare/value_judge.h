// Judges one value of a model over all samples. Internal to compare; see compare.h.
#pragma once

#include "vernier/compare/compare.h"

namespace vernier {

class ValueJudge {
 public:
  ValueJudge(std::string value, const CompareOptions& options);

  // Adds what each side showed of the value in one sample; one side may be missing.
  void add(const TraceEntry* reference, const TraceEntry* actual, size_t sample);
  // Names the ties on which the sample that was added last rests, if it passes.
  void decided_by(const std::vector<Decision>& decisions);
  TensorComparison result() const;

 private:
  bool may_be_compared(const TraceEntry* reference, const TraceEntry* actual);
  void compare_data(const Datum& reference, const Datum& actual, const std::string& part);
  void compare_tensors(const Tensor& reference, const Tensor& actual, const std::string& part);
  bool types_agree(const Tensor& reference, const Tensor& actual, const std::string& part);
  ElementType judged_as(const Tensor& actual) const;
  void judge_sample();
  void judge_difference(const Metrics& sample);
  // Whether the roundings that the engine promises explain the difference; says so then.
  bool explain_by_bound(const Metrics& sample);
  // A sample that the tolerance accepts fails nevertheless where no rounding explains it.
  void judge_accepted(const Metrics& sample);
  bool within_noise(const Metrics& sample, double factor) const;
  bool is_determined(const Metrics& sample, const NoiseFloor& floor) const;
  void lower(Verdict verdict, std::string reason);

  const CompareOptions& options_;
  TensorComparison so_far_;
  Verdict lowest_ = Verdict::kPass;  // of what was said so far, evidence aside
  bool saw_data_ = false;
  // The sample being added.
  size_t sample_ = 0;
  ElementType reference_declared_ = ElementType::kUndefined, actual_declared_ = ElementType::kUndefined;
  Verdict sample_verdict_ = Verdict::kPass;
  std::optional<MetricsAccumulator> in_sample_, total_;
};

}  // namespace vernier
