// A compiled model: immutable, shared by any number of sessions. compile/compiler.h makes engines of models,
// engine/file/engine_io.h of files.
#pragma once

#include "vernier/engine/engine_plans.h"

namespace vernier {

// Holds what was tried when an engine was compiled.
struct Tuning {
  std::vector<TuneResult> results;
  // Tactics that some node could be computed by, in any layout that was tried.
  std::set<std::string> offered;
};

class Engine {
 public:
  // See EnginePlans. An engine of a file has no tuning.
  Engine(std::shared_ptr<Planner> planner, std::vector<PreparedPlan> prepared, TunedChoices tuned,
         Tuning tuning = {}, std::vector<RestoredPlan::Recipe> recorded = {});

  const Graph& graph() const { return planner_->graph(); }
  const EngineContent& content() const { return planner_->content(); }
  const std::vector<PassRecord>& passes() const { return content().passes; }
  const PrecisionPlan& precision() const { return content().precision; }
  const BuildOptions& options() const { return planner_->options(); }
  const Tuning& tuning() const { return tuning_; }
  PrecisionAudit audit(const Plan& plan) const { return planner_->audit(plan); }

  // Plans for the sizes that the engine was compiled for, and the programs that sessions run.
  EnginePlans& plans() const { return *plans_; }
  const std::vector<PreparedPlan>& prepared() const { return plans_->prepared(); }
  const TunedChoices& tuned() const { return plans_->tuned(); }
  // Makes plans with other kernels, which are not kept.
  Planner& planner() const { return *planner_; }

  const Backend& kernels() const { return planner_->kernels().kernels(); }
  // Kernels of the devices beside the host, in the order of the options.
  std::vector<const Backend*> accelerators() const { return planner_->kernels().steered_accelerators(); }
  // The name of the device that is preferred.
  const std::string& device() const { return planner_->kernels().driver().name(); }
  PackedConstants& packed() const { return planner_->packed(); }
  // The files that constants are mapped from.
  const SourceFiles& files() const { return planner_->files(); }
  // See EngineKernels.
  std::optional<FaultSpec> fault() const { return planner_->kernels().fault(); }

 private:
  std::shared_ptr<Planner> planner_;  // outlives the plans
  std::unique_ptr<EnginePlans> plans_;
  Tuning tuning_;
};

}  // namespace vernier
