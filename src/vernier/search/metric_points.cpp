#include "vernier/search/metric_points.h"

#include "vernier/base/error.h"
#include "vernier/data/formats/npy.h"

namespace vernier {

namespace {

Tensor read_labels(const std::filesystem::path& file) {
  try {
    Tensor labels = read_npy_file(file);
    if (labels.rank() == 0)
      throw bad_input("labels need a row for each row of the data, and this is one number");
    return labels;
  } catch (Error& error) {
    throw error.in_file(file);
  }
}

// The factor that makes a figure points of which more is better.
double scale_of(const TaskMetric& metric) {
  return (metric.unit().empty() ? 100 : 1) * (metric.higher_is_better() ? 1 : -1);
}

}  // namespace

std::vector<Label> labels_of(const TaskMetric& metric, const std::vector<const NamedData*>& outputs,
                             const std::filesystem::path& file) {
  require_labels(metric, !file.empty());
  std::vector<Label> labels(outputs.size());
  if (file.empty() || metric.needs() == TaskMetric::Needs::kReference) return labels;
  const Tensor all = read_labels(file);
  std::vector<int64_t> rows;
  int64_t sum = 0;
  for (const NamedData* each : outputs) sum += rows.emplace_back(static_cast<int64_t>(metric.rows(*each)));
  if (sum != all.dims().front())
    throw bad_input("there are {} labels, and the data have {} rows", all.dims().front(), sum)
        .in_file(file)
        .advise("give one label for each row of the data, in their order");
  int64_t first = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i].values = rows_of(all, first, rows[i]);
    labels[i].file = file.string();
    labels[i].first_row = static_cast<size_t>(first);
    first += rows[i];
  }
  return labels;
}

double points_of(const TaskMetric& metric, const RowScores& rows) {
  return std::abs(scale_of(metric)) * metric.value(rows);
}

double points_lost(const TaskMetric& metric, const RowScores& before, const RowScores& after) {
  return scale_of(metric) * (metric.value(before) - metric.value(after));
}

std::vector<double> row_losses(const TaskMetric& metric, const RowScores& before, const RowScores& after) {
  std::vector<double> lost;
  if (metric.kind() == TaskMetric::Kind::kPooled || before.size() != after.size()) return lost;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].weight != 1) return {};
    lost.push_back(scale_of(metric) * (before[i].value - after[i].value));
  }
  return lost;
}

}  // namespace vernier
