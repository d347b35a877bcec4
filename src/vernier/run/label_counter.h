// Counts how often the largest element of a row is its label. Internal to run; see comparison_run.h.
#pragma once

#include "vernier/run/comparison_run.h"

namespace vernier {

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
