#include "vernier/evaluate/task_metric.h"

#include <algorithm>

#include "vernier/base/error.h"

namespace vernier {

RowStatistic TaskMetric::over(const RowScores& rows) const {
  return [&rows](std::span<const uint32_t> counts) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double weight = counts[i] * rows[i].weight;
      if (weight > 0) sum += weight * rows[i].value;
      weights += weight;
    }
    return weights > 0 ? sum / weights : std::numeric_limits<double>::quiet_NaN();
  };
}

double TaskMetric::value(const RowScores& rows) const {
  return over(rows)(std::vector<uint32_t>(rows.size(), 1));
}

bool TaskMetric::have_numbers(const RowScores& rows, size_t count) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const RowScore& row) { return row.numbers.size() == count; });
}

void require_labels(const TaskMetric& metric, bool has_labels) {
  if (!has_labels && metric.needs() == TaskMetric::Needs::kLabels)
    throw bad_input("--metric {} needs to know what is right for each row of the data", metric.name())
        .advise("give --labels: docs/evaluate.md lists the forms");
}

}  // namespace vernier
