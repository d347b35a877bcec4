// An engine that computes what it promises: built, judged, and built with less where tactics that approximate
// are too much for it.
#pragma once

#include "vernier/engine/accuracy.h"

namespace vernier {

// As Engine::build, and prepared: for the corners of each profile, the tuned sizes first, or for the sizes of
// a model where all are fixed.
std::shared_ptr<Engine> build_prepared(const Model& model, const BuildOptions& options);

struct VerifiedEngine {
  std::shared_ptr<Engine> engine;
  AccuracyReport accuracy;
  std::vector<std::string> notes;  // what was given up, and what that costs
  double build_seconds = 0, verdict_seconds = 0;
};

// Each tactic is within its bound, but a deep network may make more of their errors than it tolerates. Then
// approximate ones are given up where that helps most (keep_tactics), and if the verdict fails again, all.
// Samples as accuracy_verdict takes them. The same inputs and timing cache give the same engine. An engine
// with a fault in it is judged as it is.
VerifiedEngine build_verified(const Model& model, BuildOptions options,
                              const std::vector<Sample>& samples = {}, const AccuracyOptions& how = {});

}  // namespace vernier
