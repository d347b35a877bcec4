// The metrics by family. Internal to the room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vernier/compare/decided_rows.h"
#include "vernier/evaluate/task_metric.h"

namespace vernier {

// Whether the label is among the `k` largest elements of the last dimension; of equal ones the first count.
// Counts rows whose class is the label; an output of integers, or one score, says its class itself.
std::unique_ptr<TaskMetric> make_top_k(const MetricOptions& options, size_t k);
// F1 of the class 1, or the mean over classes that occur in labels or decisions.
std::unique_ptr<TaskMetric> make_f1(const MetricOptions& options, bool binary);
// Area under the ROC curve: of one score, of the second against the first of two, else the mean over classes
// of each against the rest.
std::unique_ptr<TaskMetric> make_auroc(const MetricOptions& options);
// Shared areas of each class over all rows, and the mean over classes that occur. The output has scores
// [rows, classes, …], of which the largest counts, one score [rows, 1, …], or classes [rows, …] as integers;
// labels are classes [rows, …]. 255 and -1 stand for what belongs to no class and does not count.
enum class Overlap : uint8_t { kIou, kDice };
std::unique_ptr<TaskMetric> make_overlap(const MetricOptions& options, Overlap overlap);
// Compare images [rows, …] with what they should be, or with what the reference makes. `peak`: the largest
// value that an element has, 0 for 1 of floats and the largest number of integers.
std::unique_ptr<TaskMetric> make_psnr(const MetricOptions& options, double peak);
std::unique_ptr<TaskMetric> make_ssim(const MetricOptions& options, double peak);
std::unique_ptr<TaskMetric> make_rmse(const MetricOptions& options);
// Similarity of the whole output of a sample to that of the reference.
std::unique_ptr<TaskMetric> make_cosine(const MetricOptions& options);
// Whether a row is decided as by the reference.
std::unique_ptr<TaskMetric> make_agreement(const MetricOptions& options);
// The share of boxes, of either side, that have a partner of the same class on the other side.
std::unique_ptr<TaskMetric> make_box_agreement(const MetricOptions& options);
// Measured by a process of Python: a file of the user, or a program of our own by its name.
std::unique_ptr<TaskMetric> make_process_metric(const MetricOptions& options);
bool is_process_metric(const std::string& name);

// The families share these.

const Tensor& output_of(const NamedData& outputs, const std::string& name);
// The values that a sample is held against: its label, else the output of the reference. Throws bad_input for
// sizes that do not fit.
const Tensor& wanted_of(const ScoredSample& sample, const std::string& output);
// Integers for each of `count` elements. Throws bad_input, naming the file.
std::vector<int64_t> classes_of(const Label& label, size_t count, const std::string& metric);

// Throws bad_input, naming the file, for a label that is none of the classes.
void require_class(int64_t wanted, const DecidedRows& rows, const Label& label, size_t row);

}  // namespace vernier
