// Starts a runner of the command line once more, with a change.
#pragma once

#include "vernier/cli/options/runner_options.h"
#include "vernier/diagnose/repairs/workshop.h"

namespace vernier {

class EngineWorkshop : public Workshop {
 public:
  // `model` is what the runner runs; it outlives this.
  EngineWorkshop(RunnerSpec spec, const RunnerModel& model, int threads);

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
