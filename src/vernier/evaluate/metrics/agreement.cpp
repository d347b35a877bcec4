#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/evaluate/metrics/metrics.h"

namespace vernier {

namespace {

class Cosine : public TaskMetric {
 public:
  explicit Cosine(const MetricOptions& options) : TaskMetric(options.name), output_(options.output) {}
  Kind kind() const override { return Kind::kMean; }
  Needs needs() const override { return Needs::kReference; }
  size_t rows(const NamedData& /*outputs*/) const override { return 0; }

  RowScores score(const ScoredSample& sample) override {
    const Tensor &wanted = output_of(sample.reference, output_), &made = output_of(sample.outputs, output_);
    const double cosine = wanted.dims() == made.dims() ? distances_of(wanted, made).cosine : 0;
    return {{.value = std::isfinite(cosine) ? cosine : 0}};
  }

 private:
  std::string output_;
};

class DecisionAgreement : public TaskMetric {
 public:
  explicit DecisionAgreement(const MetricOptions& options) : TaskMetric(options.name), options_(options) {}
  Kind kind() const override { return Kind::kHits; }
  Needs needs() const override { return Needs::kReference; }
  size_t rows(const NamedData& /*outputs*/) const override { return 0; }
  std::string description() const override {
    return "the same decision as the runner that the others are compared with";
  }

  RowScores score(const ScoredSample& sample) override {
    const DecidedRows wanted(output_of(sample.reference, options_.output), options_.threshold),
        made(output_of(sample.outputs, options_.output), options_.threshold);
    if (wanted.rows() != made.rows() || wanted.width() != made.width())
      throw bad_input("the output '{}' of a runner has other sizes than that of the reference",
                      options_.output);
    RowScores scores;
    for (size_t row = 0; row < made.rows(); ++row) {
      const int64_t decided = wanted.decided(row);
      const bool same = decided != DecidedRows::kNone && made.decided(row) == decided;
      const double margin = decided == DecidedRows::kNone ? std::nan("") : made.margin(row, decided, 1);
      scores.push_back({.value = same ? 1.0 : 0.0, .margin = margin});
    }
    return scores;
  }

 private:
  MetricOptions options_;
};

struct Box {
  double x1, y1, x2, y2, score;
  int64_t of_class;
};

double shared_area(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
               height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0) || !(height > 0)) return 0;
  const auto area = [](const Box& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); };
  const double both = width * height;
  return both / (area(a) + area(b) - both);
}

// Not mAP: nothing is known of what is right.
class BoxAgreement : public TaskMetric {
 public:
  explicit BoxAgreement(const MetricOptions& options) : TaskMetric(options.name), options_(options) {}
  Kind kind() const override { return Kind::kPooled; }
  Needs needs() const override { return Needs::kReference; }
  size_t rows(const NamedData& /*outputs*/) const override { return 0; }
  std::string description() const override {
    return fmt::format("boxes of score {} or more that share {} of their area", options_.threshold,
                       options_.match_iou);
  }

  RowScores score(const ScoredSample& sample) override {
    const auto wanted = boxes_of(sample.reference);
    auto made = boxes_of(sample.outputs);
    const double all = static_cast<double>(wanted.size() + made.size());
    double matched = 0;
    // The surest first; each takes the nearest that is left.
    for (const Box& box : wanted) {
      auto best = made.end();
      for (auto at = made.begin(); at != made.end(); ++at) {
        const double shared = at->of_class == box.of_class ? shared_area(box, *at) : 0;
        if (shared >= options_.match_iou && (best == made.end() || shared > shared_area(box, *best)))
          best = at;
      }
      if (best == made.end()) continue;
      made.erase(best);
      matched += 2;
    }
    return {{.value = all > 0 ? matched / all : 1, .numbers = {matched, all}}};
  }

  bool takes(const RowScores& rows) const override { return have_numbers(rows, 2); }
  RowStatistic over(const RowScores& rows) const override {
    return [&rows](std::span<const uint32_t> counts) {
      double matched = 0, all = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        matched += counts[i] * rows[i].numbers[0];
        all += counts[i] * rows[i].numbers[1];
      }
      return all > 0 ? matched / all : 1;
    };
  }

 private:
  // Rows of x1, y1, x2, y2, score, class; or outputs boxes, scores, and labels or classes, as torchvision has
  // them.
  std::vector<Box> boxes_of(const NamedData& outputs) const {
    std::vector<double> corners, scores, classes;
    const auto named = [&](const char* name) {
      return outputs.contains(name) ? outputs.at(name).as_tensor().to_doubles() : std::vector<double>();
    };
    corners = named("boxes"), scores = named("scores"),
    classes = named(outputs.contains("labels") ? "labels" : "classes");
    if (!outputs.contains("boxes") || !outputs.contains("scores")) {
      const Tensor& output = output_of(outputs, options_.output);
      const int64_t width = output.rank() < 2 ? 0 : output.dims().back();
      if (width != 6)
        throw bad_input("the output '{}' of sizes {} holds no boxes", options_.output,
                        dims_text(output.dims()))
            .advise("it needs rows of x1, y1, x2, y2, score and class, or outputs boxes, scores and labels");
      const auto values = output.to_doubles();
      for (size_t at = 0; at < values.size(); at += 6) {
        corners.insert(corners.end(), values.begin() + static_cast<ptrdiff_t>(at),
                       values.begin() + static_cast<ptrdiff_t>(at + 4));
        scores.push_back(values[at + 4]);
        classes.push_back(values[at + 5]);
      }
    }
    if (corners.size() != 4 * scores.size() || (!classes.empty() && classes.size() != scores.size()))
      throw bad_input("there are {} numbers of boxes for {} scores", corners.size(), scores.size());
    std::vector<Box> boxes;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (!(scores[i] >= options_.threshold)) continue;
      const double* at = corners.data() + 4 * i;
      boxes.push_back(
          {at[0], at[1], at[2], at[3], scores[i], classes.empty() ? 0 : static_cast<int64_t>(classes[i])});
    }
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const Box& a, const Box& b) { return a.score > b.score; });
    return boxes;
  }

  MetricOptions options_;
};

}  // namespace

std::unique_ptr<TaskMetric> make_cosine(const MetricOptions& options) {
  return std::make_unique<Cosine>(options);
}

std::unique_ptr<TaskMetric> make_agreement(const MetricOptions& options) {
  return std::make_unique<DecisionAgreement>(options);
}

std::unique_ptr<TaskMetric> make_box_agreement(const MetricOptions& options) {
  return std::make_unique<BoxAgreement>(options);
}

}  // namespace vernier
