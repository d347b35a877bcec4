// Writes what each runner scored for each row, for statistics of one's own.
#pragma once

#include <filesystem>

#include "vernier/evaluate/evaluation.h"

namespace vernier {

// .npz: arrays `sample` and `row`, and for each runner and metric `RUNNER/METRIC` and `RUNNER/METRIC/margin`;
// NaN where a runner failed. Else a JSON object in each line: sample, row, origin, runner, and the score of
// each metric, with `METRIC/margin` where there is one. Throws bad_input as write_file does.
void write_scores(const std::filesystem::path& file, const EvaluationPart& whole);

}  // namespace vernier
