// These options say how an engine is compiled.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/engine/sizes/shape_profile.h"
#include "vernier/passes/pass.h"
#include "vernier/precision/options.h"
#include "vernier/precision/plan.h"
#include "vernier/tune/tuner.h"

namespace vernier {

struct BuildOptions {
  // Inputs with a default stay inputs that a caller may give. Otherwise they are constants of the engine:
  // many exporters list all weights as inputs.
  bool keep_defaults = false;
  // The same bits for every run, every number of threads and every build: nothing that is measured decides
  // what is computed, and where bits depend on the number of threads one is used.
  bool deterministic = false;
  size_t workspace = 0;  // bytes of working memory that a plan may take; 0: as many as it needs
  PassOptions passes;
  PrecisionOptions precision;
  // Holds what was planned before, to be used instead of what `precision` asks for.
  std::optional<PrecisionPlan> planned;
  std::vector<ShapeProfile> profiles;  // none: any sizes run
  TuneOptions tune;
  std::shared_ptr<TimingCache> timing_cache;  // null: what is timed is forgotten
  std::optional<FaultSpec> fault;             // a defect to be found (docs/fault-injection.md)
  // Devices beside the host, the preferred first; what none of them computes runs on the host.
  std::vector<std::shared_ptr<const Driver>> accelerators;
};

// Names what times depend on besides the work itself: the name of this machine in a timing cache.
std::string timing_device();

}  // namespace vernier
