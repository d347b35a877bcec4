// Starts a runner of the command line once more, with a change.
#pragma once

#include "vernier/cli/options/runner_options.h"
#include "vernier/diagnose/repairs/repair_builder.h"

namespace vernier {

class EngineRepairBuilder : public RepairBuilder {
 public:
  // `model` is what the runner runs; it outlives this.
  EngineRepairBuilder(RunnerSpec spec, const RunnerModel& model, int threads);

  std::unique_ptr<Runner> make(const EngineChange& change, double seconds) override;
  bool takes(const std::string& option) const override;
  const PrecisionPlan* plan(Runner& engine) const override;
  std::string command(const EngineChange& change) const override;

 private:
  RunnerSpec changed(const EngineChange& change) const;

  RunnerSpec spec_;
  const RunnerModel& model_;
  int threads_;
};

}  // namespace vernier
