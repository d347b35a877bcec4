// How well the areas of classes are found: segmentation.
#pragma once

#include <map>

#include "vernier/search/task_metric.h"

namespace vernier {

// Intersection over union of each class over all samples, and the mean over the classes that occur. The
// output has scores [rows, classes, …], of which the largest counts, or classes [rows, …] as integers; labels
// are classes [rows, …]. 255 and -1 stand for what belongs to no class and does not count.
class IouMetric : public TaskMetric {
 public:
  // Throws bad_input, naming the file, for labels that are missing or no .npy file of integers.
  explicit IouMetric(const MetricOptions& options);

  std::optional<size_t> labels() const override;
  size_t rows(const NamedData& outputs) const override;
  MetricValue value(const MetricOutputs& outputs, const MetricOutputs& reference) override;

 private:
  struct Areas {
    int64_t both = 0, either = 0;
  };
  void add(const Tensor& output, size_t first_row, std::map<int64_t, Areas>& areas) const;

  MetricOptions options_;
  Tensor labels_;
  std::vector<int64_t> classes_;  // the labels
};

}  // namespace vernier
