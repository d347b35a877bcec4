#include "vernier/cli/verbs/inner_comparison.h"

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

namespace {

class FirstSample : public DataSource {
 public:
  explicit FirstSample(DataSource& data) : data_(data) {}
  std::optional<Sample> next() override { return std::exchange(given_, true) ? std::nullopt : data_.next(); }

 private:
  DataSource& data_;
  bool given_ = false;
};

}  // namespace

std::vector<std::string> inner_tensors(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->type.is_tensor()) names.push_back(output->name);
    }
  }
  return names;
}

std::vector<ComparisonResult> compare_inner_values(const Model& model, const std::vector<Runner*>& runners,
                                                   DataSource& data, const CompareOptions& options) {
  ComparisonJob job;
  job.runners = runners;
  if (dynamic_cast<ReferenceRunner*>(&runners.front()->original()) != nullptr) job.references.insert(0);
  job.taps = inner_tensors(*model.graph);
  job.compare = options;
  job.noise_runs = 0;
  FirstSample first(data);
  return run_and_compare(job, first).comparisons;
}

}  // namespace vernier
