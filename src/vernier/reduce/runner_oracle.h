// Runners as what tells whether a case still shows the symptom: the engine, and what it is compared with, run
// the case as `vernier run` would, and the same judge compares them.
#pragma once

#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/reduce/oracle.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

struct RunnerOracleOptions {
  MakeRunner engine, against;  // for a model; `against` null: the reference
  CompareOptions compare;
  decltype(ComparisonJob::derive_bounds) derive_bounds;
  uint64_t seed = 1;
  double seconds = 600;  // that a run of the engine, or loading a model, may take
};

// Gives the user's tolerances as they hold for a model of these outputs: where an option names an output that
// is not there, the largest that it names holds for all that have none of their own.
Tolerances tolerances_for(const Graph& graph, Tolerances given);

class RunnerOracle : public ReductionOracle {
 public:
  explicit RunnerOracle(RunnerOracleOptions options) : options_(std::move(options)) {}

  // Judges a model that is in a file. Throws what the runner that is compared with throws, and usage_error.
  Judgement judge_file(const std::filesystem::path& path, const ReproCase& reproduction);
  Judgement judge(const ReproCase& reproduction) override;
  std::vector<std::string> first_wrong_nodes(const ReproCase& reproduction, const NamedData& known,
                                             const Symptom& symptom) override;
  // For the runs to come.
  void limit_seconds(double seconds) { options_.seconds = seconds; }
  double seconds() const { return options_.seconds; }
  const RunnerOracleOptions& options() const { return options_; }
  // Gives what the runners say of themselves, by name of the runner: versions and settings.
  const std::map<std::string, std::map<std::string, std::string>>& descriptions() const {
    return descriptions_;
  }

 private:
  std::unique_ptr<Runner> make_against(const RunnerModel& model) const;
  void describe(Runner& runner);

  RunnerOracleOptions options_;
  std::map<std::string, std::map<std::string, std::string>> descriptions_;
};

}  // namespace vernier
