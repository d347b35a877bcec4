#include "vernier/search/task_metric.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/data/formats/npy.h"
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

namespace {

constexpr int64_t kNoClass = -1, kVoid = 255;

// The class of each element of [rows, …]: the largest of the scores [rows, classes, …], the first of equal
// ones.
std::vector<int64_t> classes_of(const Tensor& output) {
  if (!is_float(output.type())) return output.to_ints();
  const auto values = output.to_doubles();
  const auto classes = static_cast<size_t>(output.dims()[1]), rows = static_cast<size_t>(output.dims()[0]);
  const size_t area = values.size() / (rows * classes);
  std::vector<int64_t> found(rows * area, 0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t at = 0; at < area; ++at) {
      const auto score = [&](size_t c) { return values[(row * classes + c) * area + at]; };
      size_t best = 0;
      for (size_t c = 1; c < classes; ++c) {
        if (score(c) > score(best)) best = c;
      }
      // What is no number finds nothing.
      found[row * area + at] = std::isnan(score(best)) ? kNoClass : static_cast<int64_t>(best);
    }
  }
  return found;
}

}  // namespace

IouMetric::IouMetric(const MetricOptions& options) : options_(options) {
  if (options.labels.empty())
    throw bad_input("--metric iou needs the classes of the data")
        .advise("give --labels FILE.npy, one class for each element of each row");
  try {
    labels_ = read_npy_file(options.labels);
    if (!is_integer(labels_.type()) || labels_.rank() < 2)
      throw bad_input("labels of iou are integers [rows, …], and these are {}{}",
                      element_type_short_name(labels_.type()), dims_text(labels_.dims()));
    classes_ = labels_.to_ints();
  } catch (Error& error) {
    throw error.in_file(options.labels);
  }
}

std::optional<size_t> IouMetric::labels() const {
  return static_cast<size_t>(labels_.dims().front());
}

size_t IouMetric::rows(const NamedData& outputs) const {
  const Tensor& output = outputs.at(options_.output).as_tensor();
  Dims dims = output.dims();
  if (is_float(output.type()) && dims.size() > 1) dims.erase(dims.begin() + 1);
  Dims wanted = labels_.dims();
  if (!dims.empty()) wanted.front() = dims.front();
  if (dims != wanted || output.size() == 0)
    throw bad_input("the output '{}' of sizes {} does not fit labels of sizes {}", options_.output,
                    dims_text(output.dims()), dims_text(labels_.dims()))
        .in_file(options_.labels)
        .advise("labels are [rows, …], scores [rows, classes, …]");
  return static_cast<size_t>(dims.front());
}

void IouMetric::add(const Tensor& output, size_t first_row, std::map<int64_t, Areas>& areas) const {
  const auto found = classes_of(output);
  const auto area = static_cast<size_t>(labels_.size() / labels_.dims().front());
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t label = classes_.at(first_row * area + i);
    if (label == kNoClass || label == kVoid) continue;
    if (label < 0 || (is_float(output.type()) && label >= output.dims()[1]))
      throw bad_input("label {} in row {} is none of the {} classes", label, first_row + i / area,
                      output.dims()[1])
          .in_file(options_.labels)
          .advise("classes count from 0; 255 and -1 stand for none");
    ++areas[label].either;
    if (found[i] == label)
      ++areas[label].both;
    else
      ++areas[found[i]].either;
  }
}

MetricValue IouMetric::value(const MetricOutputs& outputs, const MetricOutputs& /*reference*/) {
  std::map<int64_t, Areas> areas;
  for (size_t i = 0; i < outputs.samples.size(); ++i)
    add(outputs.samples[i]->at(options_.output).as_tensor(), outputs.first_labels[i], areas);
  areas.erase(kNoClass);
  double sum = 0;
  for (const auto& [label, each] : areas)
    sum += static_cast<double>(each.both) / static_cast<double>(each.either);
  return {areas.empty() ? 0 : 100 * sum / static_cast<double>(areas.size()), {}};
}

}  // namespace vernier
