#include "vernier/search/task_metric.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/data/formats/npy.h"
#include "vernier/search/iou_metric.h"
#include "vernier/search/plugin_metric.h"

namespace vernier {

namespace {

constexpr double kPerfect = 100;

MetricValue mean_of(std::vector<double> rows) {
  double sum = 0;
  for (const double row : rows) sum += row;
  return {rows.empty() ? 0 : sum / static_cast<double>(rows.size()), std::move(rows)};
}

class TopK : public TaskMetric {
 public:
  TopK(size_t k, const MetricOptions& options) : k_(k), options_(options) {
    if (options.labels.empty())
      throw bad_input("--metric {} needs the classes of the data", options.name)
          .advise("give --labels FILE.npy, one class for each row");
    try {
      classes_ = read_npy_file(options.labels, ElementType::kInt64).to_ints();
    } catch (Error& error) {
      throw error.in_file(options.labels);
    }
  }

  std::optional<size_t> labels() const override { return classes_.size(); }

  size_t rows(const NamedData& outputs) const override {
    const Tensor& tensor = logits(outputs);
    return static_cast<size_t>(tensor.size() / tensor.dims().back());
  }

  MetricValue value(const MetricOutputs& outputs, const MetricOutputs& /*reference*/) override {
    std::vector<double> right;
    for (size_t i = 0; i < outputs.samples.size(); ++i)
      add_rows(logits(*outputs.samples[i]), outputs.first_labels[i], right);
    return mean_of(std::move(right));
  }

 private:
  const Tensor& logits(const NamedData& outputs) const {
    const Tensor& tensor = outputs.at(options_.output).as_tensor();
    if (tensor.rank() < 1 || tensor.dims().back() < 2)
      throw usage_error("--metric {}: output '{}' of sizes {} has no classes", options_.name, options_.output,
                        dims_text(tensor.dims()));
    return tensor;
  }

  void add_rows(const Tensor& tensor, size_t label, std::vector<double>& right) const {
    const auto values = tensor.to_doubles();
    const auto classes = static_cast<size_t>(tensor.dims().back());
    for (size_t row = 0; row < values.size(); row += classes, ++label) {
      const int64_t wanted = classes_.at(label);
      if (wanted < 0 || wanted >= static_cast<int64_t>(classes))
        throw bad_input("label {} at index {} is none of the {} classes", wanted, label, classes)
            .in_file(options_.labels)
            .advise("labels count from 0; a background class shifts them");
      const double score = values[row + static_cast<size_t>(wanted)];
      size_t before = 0;  // larger ones, and equal ones that come first
      bool has_nan = false;
      for (size_t c = 0; c < classes; ++c) {
        const double other = values[row + c];
        has_nan = has_nan || std::isnan(other);
        before += other > score || (other == score && c < static_cast<size_t>(wanted));
      }
      right.push_back(!has_nan && before < k_ ? kPerfect : 0);
    }
  }

  size_t k_;
  MetricOptions options_;
  std::vector<int64_t> classes_;
};

class CosineMetric : public TaskMetric {
 public:
  explicit CosineMetric(std::string output) : output_(std::move(output)) {}

  std::optional<size_t> labels() const override { return std::nullopt; }
  size_t rows(const NamedData& /*outputs*/) const override { return 0; }

  MetricValue value(const MetricOutputs& outputs, const MetricOutputs& reference) override {
    std::vector<double> similar;
    for (size_t i = 0; i < outputs.samples.size(); ++i) {
      const Tensor &wanted = reference.samples[i]->at(output_).as_tensor(),
                   &made = outputs.samples[i]->at(output_).as_tensor();
      const double cosine = wanted.dims() == made.dims() ? distances_of(wanted, made).cosine : 0;
      similar.push_back(std::isfinite(cosine) ? kPerfect * cosine : 0);
    }
    return mean_of(std::move(similar));
  }

 private:
  std::string output_;
};

}  // namespace

std::unique_ptr<TaskMetric> make_task_metric(const MetricOptions& given) {
  MetricOptions options = given;
  if (options.output.empty() && !options.outputs.empty()) options.output = options.outputs.front();
  if (std::find(options.outputs.begin(), options.outputs.end(), options.output) == options.outputs.end())
    throw usage_error("--labels-output '{}' is no output", options.output);
  if (options.name == "top1") return std::make_unique<TopK>(1, options);
  if (options.name == "top5") return std::make_unique<TopK>(5, options);
  if (options.name == "cosine") return std::make_unique<CosineMetric>(options.output);
  if (options.name == "iou") return std::make_unique<IouMetric>(options);
  if (options.name.ends_with(".py")) return std::make_unique<PluginMetric>(options);
  throw usage_error("--metric '{}' is none of top1, top5, cosine and iou, and no file of Python",
                    options.name)
      .advise("a file NAME.py with a function metric(outputs, labels) measures anything else");
}

std::vector<size_t> first_labels(const TaskMetric& metric, const std::vector<const NamedData*>& outputs,
                                 const std::filesystem::path& file) {
  std::vector<size_t> first;
  size_t rows = 0;
  for (const NamedData* each : outputs) {
    first.push_back(rows);
    rows += metric.rows(*each);
  }
  if (const auto labels = metric.labels(); labels && *labels != rows)
    throw bad_input("there are {} labels, and the data have {} rows", *labels, rows)
        .in_file(file)
        .advise("give one label for each row of the data, in their order");
  return first;
}

}  // namespace vernier
