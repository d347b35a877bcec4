#include "vernier/search/iou_metric.h"

#include <cmath>

#include "vernier/data/formats/npy.h"

namespace vernier {

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
