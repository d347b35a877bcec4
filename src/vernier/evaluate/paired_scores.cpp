#include "vernier/evaluate/paired_scores.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/error.h"

namespace vernier {

namespace {

constexpr size_t kMostChanges = 100;

}  // namespace

PairedScores::PairedScores(const EvaluationPart& whole, size_t metric, size_t against, size_t of) {
  for (const SampleScores& sample : whole.scores) {
    const RowScores &one = sample.scores[metric][against], &other = sample.scores[metric][of];
    if (one.size() != other.size())
      throw bad_input("sample {} has {} rows of one runner and {} of another", sample.index, one.size(),
                      other.size());
    baseline.insert(baseline.end(), one.begin(), one.end());
    runner.insert(runner.end(), other.begin(), other.end());
    for (size_t row = 0; row < one.size(); ++row) places_.push_back({sample.index, row, &sample.origin});
  }
  if (baseline.empty()) throw bad_input("the data have no rows to score");
}

PairedCounts PairedScores::counts() const {
  PairedCounts counts{.rows = static_cast<double>(baseline.size())};
  for (size_t i = 0; i < baseline.size(); ++i) {
    counts.lost += baseline[i].value > runner[i].value;
    counts.gained += baseline[i].value < runner[i].value;
  }
  return counts;
}

bool PairedScores::are_equal() const {
  return std::equal(baseline.begin(), baseline.end(), runner.begin(),
                    [](const RowScore& a, const RowScore& b) {
                      return a.value == b.value && a.weight == b.weight && a.numbers == b.numbers;
                    });
}

std::vector<EvaluationOutcome::Change> PairedScores::changes(bool higher_is_better, size_t& lost,
                                                             size_t& gained) const {
  std::vector<EvaluationOutcome::Change> all;
  for (size_t i = 0; i < baseline.size(); ++i) {
    const double fall = (higher_is_better ? 1 : -1) * (baseline[i].value - runner[i].value);
    if (fall == 0 || std::isnan(fall)) continue;
    ++(fall > 0 ? lost : gained);
    const double margin = baseline[i].margin - runner[i].margin;
    all.push_back({places_[i].sample, places_[i].row, *places_[i].origin, baseline[i].value, runner[i].value,
                   std::isnan(margin) ? fall : margin});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.lost > b.lost; });
  if (all.size() > kMostChanges) all.resize(kMostChanges);
  return all;
}

}  // namespace vernier
