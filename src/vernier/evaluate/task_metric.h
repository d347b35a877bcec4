// A task metric says what a model is worth, as a figure over rows of labelled data. `evaluate` and `tune`
// measure by the same.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "vernier/data/labelled/labelled_source.h"
#include "vernier/evaluate/statistics/bootstrap.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Holds what a metric knows of one row: all that the figure over any rows needs.
struct RowScore {
  double value = 0;   // of the row alone; 1 or 0 for one that is right or wrong
  double weight = 1;  // in the mean of values
  // By how much a decision was right, negative if it was wrong; NaN where there is none.
  double margin = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> numbers = {};  // of figures that are no mean of values
};

using RowScores = std::vector<RowScore>;

// One sample of one runner.
struct ScoredSample {
  const NamedData& outputs;
  const NamedData& reference;  // outputs of the runner that the others are compared with
  const Label& label;
};

class TaskMetric {
 public:
  enum class Kind : uint8_t {
    kHits,    // the share of rows that are right
    kMean,    // the mean of the values of rows
    kPooled,  // a figure of all rows together
  };
  enum class Needs : uint8_t { kLabels, kReference, kEither };

  virtual ~TaskMetric() = default;
  const std::string& name() const { return name_; }
  virtual Kind kind() const = 0;
  virtual Needs needs() const = 0;
  virtual bool higher_is_better() const { return true; }
  // "" for shares, of which 1 is perfect and which `tune` counts in points, 100 for 1; else "dB" or the like.
  virtual std::string unit() const { return ""; }
  // Says what else makes the figure, for reports: versions, thresholds.
  virtual std::string description() const { return ""; }
  // Rows of labels that the outputs of a sample take.
  virtual size_t rows(const NamedData& outputs) const = 0;
  // Throws bad_input, naming the file, for labels that are none of the model, and for outputs that do not fit
  // them.
  virtual RowScores score(const ScoredSample& sample) = 0;
  // Whether these are rows of this metric: they may come from a file.
  virtual bool takes(const RowScores& /*rows*/) const { return true; }
  // The figure over rows that it takes, which outlive what is returned. The default: the weighted mean of
  // their values.
  virtual RowStatistic over(const RowScores& rows) const;
  double value(const RowScores& rows) const;

 protected:
  explicit TaskMetric(std::string name) : name_(std::move(name)) {}
  // Whether each row has so many numbers.
  static bool have_numbers(const RowScores& rows, size_t count);

 private:
  std::string name_;
};

struct MetricOptions {
  std::string name;                  // see metric_names(), or a file of Python
  std::string output;                // that it is about; empty: the first
  std::vector<std::string> outputs;  // of the model, in order
  double threshold = 0.5;            // from which a single score means yes
  double match_iou = 0.5;            // of boxes that are taken for the same
};

// Throws usage_error for names that are none, and for an output that the model does not have; bad_input for a
// file of Python that is no metric.
std::unique_ptr<TaskMetric> make_task_metric(const MetricOptions& options);
// "top1, topk:K, …", for messages and --help.
std::string metric_names();

// Throws bad_input unless there are labels, or none are needed.
void require_labels(const TaskMetric& metric, bool has_labels);

}  // namespace vernier
