#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/evaluate/metrics/metrics.h"

namespace vernier {

namespace {

constexpr int64_t kNoClass = -1, kVoid = 255;

// The class of each element of [rows, …]: the largest of the scores [rows, classes, …], the first of equal
// ones.
std::vector<int64_t> decided_classes(const Tensor& output, double threshold) {
  if (!is_float(output.type())) return output.to_ints();
  const auto values = output.to_doubles();
  const auto classes = static_cast<size_t>(output.dims()[1]), rows = static_cast<size_t>(output.dims()[0]);
  const size_t area = values.size() / (rows * classes);
  std::vector<int64_t> found(rows * area, 0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t at = 0; at < area; ++at) {
      const auto score = [&](size_t c) { return values[(row * classes + c) * area + at]; };
      size_t best = 0;
      bool has_nan = std::isnan(score(0));
      for (size_t c = 1; c < classes; ++c) {
        has_nan = has_nan || std::isnan(score(c));
        if (score(c) > score(best)) best = c;
      }
      if (classes == 1) best = score(0) >= threshold ? 1 : 0;
      // A score that is no number finds nothing.
      found[row * area + at] = has_nan ? kNoClass : static_cast<int64_t>(best);
    }
  }
  return found;
}

// Sizes of labels that an output takes.
Dims label_dims(const Tensor& output) {
  Dims dims = output.dims();
  if (is_float(output.type()) && dims.size() > 1) dims.erase(dims.begin() + 1);
  return dims;
}

// Classes [rows, height, width] at other sizes: the nearest element.
std::vector<int64_t> resampled(const std::vector<int64_t>& classes, const Dims& from, const Dims& to) {
  std::vector<int64_t> result;
  for (int64_t row = 0; row < to[0]; ++row) {
    for (int64_t y = 0; y < to[1]; ++y) {
      for (int64_t x = 0; x < to[2]; ++x) {
        const int64_t from_y = (2 * y + 1) * from[1] / (2 * to[1]),
                      from_x = (2 * x + 1) * from[2] / (2 * to[2]);
        result.push_back(classes[static_cast<size_t>((row * from[1] + from_y) * from[2] + from_x)]);
      }
    }
  }
  return result;
}

struct Areas {
  double both = 0, either = 0;
};

class OverlapMetric : public TaskMetric {
 public:
  OverlapMetric(const MetricOptions& options, Overlap overlap)
      : TaskMetric(options.name), options_(options), overlap_(overlap) {}

  Kind kind() const override { return Kind::kPooled; }
  Needs needs() const override { return Needs::kLabels; }
  size_t rows(const NamedData& outputs) const override {
    const Tensor& output = output_of(outputs, options_.output);
    if (output.rank() < 2 || output.size() == 0)
      throw bad_input("the output '{}' of sizes {} finds no areas", options_.output,
                      dims_text(output.dims()));
    return static_cast<size_t>(output.dims().front());
  }

  RowScores score(const ScoredSample& sample) override {
    const Tensor& output = output_of(sample.outputs, options_.output);
    const size_t count = rows(sample.outputs);
    const auto wanted = wanted_classes(sample.label, output);
    const auto found = decided_classes(output, options_.threshold);
    const int64_t classes = !is_float(output.type()) ? kVoid : std::max<int64_t>(2, output.dims()[1]);
    const size_t area = found.size() / count;
    RowScores scores;
    for (size_t row = 0; row < count; ++row) {
      std::map<int64_t, Areas> areas;
      for (size_t i = row * area; i < (row + 1) * area; ++i) {
        const int64_t label = wanted[i];
        if (label == kNoClass || label == kVoid) continue;
        if (label < 0 || label >= classes)
          throw bad_input("label {} in row {} is none of the {} classes", label, sample.label.first_row + row,
                          classes)
              .in_file(sample.label.file)
              .advise("classes count from 0; 255 and -1 stand for none");
        ++areas[label].either;
        if (found[i] == label)
          ++areas[label].both;
        else
          ++areas[found[i]].either;
      }
      areas.erase(kNoClass);
      RowScore& result = scores.emplace_back();
      std::vector<Areas> here;
      here.reserve(areas.size());
      for (const auto& [label, each] : areas) here.push_back(each);
      result.value = mean(here, overlap_);
      for (const auto& [label, each] : areas)
        result.numbers.insert(result.numbers.end(), {static_cast<double>(label), each.both, each.either});
    }
    return scores;
  }

  bool takes(const RowScores& rows) const override {
    const auto is_area = [](double number) { return number >= 0 && number < 1e15; };
    return std::all_of(rows.begin(), rows.end(), [&](const RowScore& row) {
      return row.numbers.size() % 3 == 0 && std::all_of(row.numbers.begin(), row.numbers.end(), is_area);
    });
  }
  RowStatistic over(const RowScores& rows) const override {
    struct Part {
      size_t row, place;
      Areas areas;
    };
    std::map<double, size_t> places;  // of classes
    std::vector<Part> parts;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& numbers = rows[i].numbers;
      for (size_t at = 0; at < numbers.size(); at += 3)
        parts.push_back({i,
                         places.emplace(numbers[at], places.size()).first->second,
                         {numbers[at + 1], numbers[at + 2]}});
    }
    return [parts = std::move(parts), classes = places.size(),
            overlap = overlap_](std::span<const uint32_t> counts) {
      std::vector<Areas> sums(classes);
      for (const auto& [row, place, areas] : parts) {
        sums[place].both += counts[row] * areas.both;
        sums[place].either += counts[row] * areas.either;
      }
      return mean(sums, overlap);
    };
  }

 private:
  static double mean(const std::vector<Areas>& classes, Overlap overlap) {
    double sum = 0, occurring = 0;
    for (const auto& [both, either] : classes) {
      if (either == 0) continue;
      sum += overlap == Overlap::kIou ? both / either : 2 * both / (both + either);
      ++occurring;
    }
    return occurring > 0 ? sum / occurring : 0;
  }

  std::vector<int64_t> wanted_classes(const Label& label, const Tensor& output) const {
    const Dims wanted = label_dims(output);
    const bool fits = label.values.rank() > 0 && label.values.size() == element_count(wanted) &&
                      label.values.dims().front() == wanted.front();
    if (label.values.is_defined() && !fits) {
      const Dims& dims = label.values.dims();
      const bool is_mask =
          dims.size() == 3 && wanted.size() == 3 && dims[0] == wanted[0] && label.values.size() > 0;
      if (!is_mask)
        throw bad_input("the output '{}' of sizes {} does not fit labels of sizes {}", options_.output,
                        dims_text(output.dims()), dims_text(dims))
            .in_file(label.file)
            .advise("labels are [rows, …], scores [rows, classes, …]");
      return resampled(classes_of(label, static_cast<size_t>(label.values.size()), name()), dims, wanted);
    }
    return classes_of(label, static_cast<size_t>(element_count(wanted)), name());
  }

  MetricOptions options_;
  Overlap overlap_;
};

}  // namespace

std::unique_ptr<TaskMetric> make_overlap(const MetricOptions& options, Overlap overlap) {
  return std::make_unique<OverlapMetric>(options, overlap);
}

}  // namespace vernier
