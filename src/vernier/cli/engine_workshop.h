// Starts a runner of the command line once more, with a change.
#pragma once

#include "vernier/cli/runner_options.h"
#include "vernier/diagnose/repairs/workshop.h"
#include "vernier/engine/engine_runner.h"

namespace vernier {

class EngineWorkshop : public Workshop {
 public:
  // `model` is what the runner runs, and `engine` the runner, where it is an engine of ours that this process
  // builds; null otherwise. All outlive this.
  EngineWorkshop(RunnerSpec spec, const RunnerModel& model, int threads, const EngineRunner* engine);

  std::unique_ptr<Runner> make(const EngineChange& change, double seconds) override;
  bool takes(const std::string& option) const override;
  const PrecisionPlan* plan() const override;
  std::string command(const EngineChange& change) const override;

 private:
  RunnerSpec changed(const EngineChange& change) const;

  RunnerSpec spec_;
  const RunnerModel& model_;
  int threads_;
  const EngineRunner* engine_;
};

}  // namespace vernier
