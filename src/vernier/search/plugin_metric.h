// A metric that the user wrote in Python, in a process of its own.
#pragma once

#include "vernier/backends/process/child_process.h"
#include "vernier/base/file.h"
#include "vernier/search/task_metric.h"

namespace vernier {

class PluginMetric : public TaskMetric {
 public:
  // Starts Python (find_python). Throws bad_input, naming the file, where it has no function `metric`, and
  // for labels that are no .npy file.
  explicit PluginMetric(const MetricOptions& options);

  std::optional<size_t> labels() const override { return labels_; }
  // A row of labels for each row of the first dimension.
  size_t rows(const NamedData& outputs) const override;
  // Throws bad_input where the function does, and where it gives no finite number or takes too long.
  MetricValue value(const MetricOutputs& outputs, const MetricOutputs& reference) override;

 private:
  std::string ask(const std::string& request);

  MetricOptions options_;
  TemporaryFolder folder_;
  std::optional<size_t> labels_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace vernier
