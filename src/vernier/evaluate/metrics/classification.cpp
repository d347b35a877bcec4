#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "vernier/evaluate/metrics/metrics.h"

namespace vernier {

namespace {

// Metrics that need one label for each row of an output.
class ClassMetric : public TaskMetric {
 public:
  explicit ClassMetric(const MetricOptions& options) : TaskMetric(options.name), options_(options) {}

  Needs needs() const override { return Needs::kLabels; }
  size_t rows(const NamedData& outputs) const override {
    return DecidedRows::count(output_of(outputs, options_.output));
  }
  RowScores score(const ScoredSample& sample) override {
    const DecidedRows rows(output_of(sample.outputs, options_.output), options_.threshold);
    const auto wanted = classes_of(sample.label, rows.rows(), name());
    RowScores scores;
    for (size_t row = 0; row < rows.rows(); ++row) {
      require_class(wanted[row], rows, sample.label, row);
      scores.push_back(score_of(rows, row, wanted[row]));
    }
    return scores;
  }

 protected:
  virtual RowScore score_of(const DecidedRows& rows, size_t row, int64_t wanted) const = 0;
  const MetricOptions& options() const { return options_; }

 private:
  MetricOptions options_;
};

class TopK : public ClassMetric {
 public:
  TopK(const MetricOptions& options, size_t k) : ClassMetric(options), k_(k) {}
  Kind kind() const override { return Kind::kHits; }

 protected:
  RowScore score_of(const DecidedRows& rows, size_t row, int64_t wanted) const override {
    return {.value = rows.holds(row, wanted, k_) ? 1.0 : 0.0, .margin = rows.margin(row, wanted, k_)};
  }

 private:
  size_t k_;
};

class F1 : public ClassMetric {
 public:
  F1(const MetricOptions& options, bool binary) : ClassMetric(options), binary_(binary) {}
  Kind kind() const override { return Kind::kPooled; }

  bool takes(const RowScores& rows) const override { return have_numbers(rows, 2); }
  RowStatistic over(const RowScores& rows) const override {
    std::map<double, size_t> places;  // of classes
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const RowScore& row : rows) {
      const auto place = [&](double of_class) {
        return places.emplace(of_class, places.size()).first->second;
      };
      const size_t wanted = place(row.numbers[0]);
      pairs.emplace_back(wanted, place(row.numbers[1]));
    }
    std::vector<bool> matters(places.size());
    for (const auto& [of_class, place] : places)
      matters[place] = binary_ ? of_class == 1 : of_class != DecidedRows::kNone;
    return [pairs = std::move(pairs), matters = std::move(matters)](std::span<const uint32_t> counts) {
      std::vector<Counts> classes(matters.size());
      for (size_t i = 0; i < pairs.size(); ++i) {
        const auto [wanted, decided] = pairs[i];
        classes[wanted].either += counts[i];
        classes[decided].either += counts[i];
        if (wanted == decided) classes[wanted].both += counts[i];
      }
      double sum = 0, occurring = 0;
      for (size_t c = 0; c < classes.size(); ++c) {
        if (!matters[c] || classes[c].either == 0) continue;
        sum += 2 * classes[c].both / classes[c].either, ++occurring;
      }
      return occurring > 0 ? sum / occurring : 0;
    };
  }

 protected:
  RowScore score_of(const DecidedRows& rows, size_t row, int64_t wanted) const override {
    if (binary_ && wanted > 1)
      throw bad_input("f1:binary knows the labels 0 and 1, and row {} has {}", row, wanted);
    const int64_t decided = rows.decided(row);
    return {.value = decided == wanted ? 1.0 : 0.0,
            .margin = rows.margin(row, wanted, 1),
            .numbers = {static_cast<double>(wanted), static_cast<double>(decided)}};
  }

 private:
  struct Counts {
    double either = 0, both = 0;  // rows that are of the class, and rows that are taken for it
  };
  bool binary_;
};

// How often a row that is one is ahead of a row that is none.
double area(const std::vector<size_t>& order, const std::vector<double>& scores,
            const std::vector<bool>& is_one, std::span<const uint32_t> counts) {
  double ones = 0, others = 0, won = 0;
  for (size_t begin = 0; begin < order.size();) {
    double ones_here = 0, others_here = 0;
    size_t at = begin;
    for (; at < order.size() && scores[order[at]] == scores[order[begin]]; ++at)
      (is_one[order[at]] ? ones_here : others_here) += counts[order[at]];
    won += ones_here * (others + others_here / 2);
    ones += ones_here, others += others_here;
    begin = at;
  }
  return ones > 0 && others > 0 ? won / (ones * others) : std::nan("");
}

class Auroc : public ClassMetric {
 public:
  using ClassMetric::ClassMetric;
  Kind kind() const override { return Kind::kPooled; }

  bool takes(const RowScores& rows) const override {
    return rows.empty() || (rows[0].numbers.size() >= 2 && have_numbers(rows, rows[0].numbers.size()));
  }
  RowStatistic over(const RowScores& rows) const override {
    struct Ranking {
      std::vector<double> scores;
      std::vector<bool> is_one;
      std::vector<size_t> order;
    };
    const size_t width = rows.empty() ? 0 : rows[0].numbers.size() - 1;
    std::vector<Ranking> rankings(width);
    for (size_t c = 0; c < width; ++c) {
      Ranking& ranking = rankings[c];
      const auto one = static_cast<double>(width == 1 ? 1 : c);
      for (const RowScore& row : rows) {
        ranking.order.push_back(ranking.order.size());
        const bool is_one = row.numbers[0] == one;
        ranking.is_one.push_back(is_one);
        const double score = row.numbers[c + 1];
        // A score that is no number is as wrong as can be.
        ranking.scores.push_back(!std::isnan(score) ? score : is_one ? -INFINITY : INFINITY);
      }
      std::stable_sort(ranking.order.begin(), ranking.order.end(), [&](size_t left, size_t right) {
        return ranking.scores[left] < ranking.scores[right];
      });
    }
    return [rankings = std::move(rankings)](std::span<const uint32_t> counts) {
      double sum = 0, classes = 0;
      for (const auto& [scores, is_one, order] : rankings) {
        const double each = area(order, scores, is_one, counts);
        if (std::isnan(each)) continue;
        sum += each, ++classes;
      }
      return classes > 0 ? sum / classes : std::nan("");
    };
  }

 protected:
  RowScore score_of(const DecidedRows& rows, size_t row, int64_t wanted) const override {
    RowScore result{.value = rows.decided(row) == wanted ? 1.0 : 0.0, .margin = rows.margin(row, wanted, 1)};
    result.numbers.push_back(static_cast<double>(wanted));
    if (rows.classes() == 0)
      throw bad_input("--metric auroc needs scores, and '{}' has classes", options().output);
    if (rows.width() == 2) {
      result.numbers.push_back(rows.score(row, 1) - rows.score(row, 0));
    } else {
      for (size_t c = 0; c < rows.width(); ++c) result.numbers.push_back(rows.score(row, c));
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<TaskMetric> make_top_k(const MetricOptions& options, size_t k) {
  return std::make_unique<TopK>(options, k);
}

std::unique_ptr<TaskMetric> make_f1(const MetricOptions& options, bool binary) {
  return std::make_unique<F1>(options, binary);
}

std::unique_ptr<TaskMetric> make_auroc(const MetricOptions& options) {
  return std::make_unique<Auroc>(options);
}

}  // namespace vernier
