// What a model is for, as a number of points: 100 is perfect.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct MetricValue {
  double points = 0;
  std::vector<double> rows;  // whose mean it is, in points; empty where it is no mean over rows
};

// Outputs of samples in order, and the first row of labels of each.
struct MetricOutputs {
  std::vector<const NamedData*> samples;
  std::vector<size_t> first_labels;
};

class TaskMetric {
 public:
  virtual ~TaskMetric() = default;
  // Rows of labels that the outputs of one sample take.
  virtual size_t rows(const NamedData& outputs) const = 0;
  // `reference` are the outputs of the declared reference for the same samples.
  virtual MetricValue value(const MetricOutputs& outputs, const MetricOutputs& reference) = 0;
  // How many labels there are; nothing where it needs none.
  virtual std::optional<size_t> labels() const = 0;
};

struct MetricOptions {
  std::string name;                  // "top1", "top5", "cosine", "iou", or a file of Python
  std::filesystem::path labels;      // .npy; empty: none
  std::string output;                // that labels are about; empty: the first
  std::vector<std::string> outputs;  // of the model, in order
};

// top1 and top5: rows whose label is among the largest elements of the last dimension. cosine: the mean
// similarity of the output of a sample to that of the reference. iou: see IouMetric. A file of Python has a
// function metric(outputs, labels), see docs/tuning.md. Throws usage_error for other names, bad_input for
// files and for labels that are missing.
std::unique_ptr<TaskMetric> make_task_metric(const MetricOptions& options);

// The labels of each of so many samples by rows, for metrics with labels. Throws bad_input, naming the file,
// where the data have more or fewer rows.
std::vector<size_t> first_labels(const TaskMetric& metric, const std::vector<const NamedData*>& outputs,
                                 const std::filesystem::path& file);

// How well the areas of classes are found: segmentation.

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
