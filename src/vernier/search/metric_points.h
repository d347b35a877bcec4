// A task metric over the samples of a search, in points: 100 are perfect where it is a share.
#pragma once

#include <filesystem>
#include <vector>

#include "vernier/evaluate/task_metric.h"

namespace vernier {

// The labels of each of these samples, whose rows lie behind one another in a file (.npy); none where `file`
// is empty. Throws bad_input, naming the file, where the data have more or fewer rows, and where the metric
// needs labels.
std::vector<Label> labels_of(const TaskMetric& metric, const std::vector<const NamedData*>& outputs,
                             const std::filesystem::path& file);

double points_of(const TaskMetric& metric, const RowScores& rows);
// How many points `after` is worse.
double points_lost(const TaskMetric& metric, const RowScores& before, const RowScores& after);
// The points that each row lost, where the metric is their mean.
std::vector<double> row_losses(const TaskMetric& metric, const RowScores& before, const RowScores& after);

}  // namespace vernier
