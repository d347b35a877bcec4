// Whether an engine computes what its plan promises, and what the plan costs.
#pragma once

#include "vernier/compare/compare.h"
#include "vernier/compare/trace.h"
#include "vernier/data/data_source.h"
#include "vernier/engine/engine.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

// What plans promised: by promise, inputs and noise. Engines of other kernels may promise the same.
using PromisedTraces = std::map<std::tuple<uint64_t, uint64_t, std::optional<uint64_t>>, Trace>;

struct AccuracyReport {
  // The engine against the reference that rounds as its plan does: must be rounding noise.
  ComparisonResult planned;
  // By output, relative L2, the worst over the samples: the price of the plan, and of the plan and the
  // model's own types together.
  std::map<std::string, double> against_declared, against_ideal;
  std::vector<std::string> samples;  // where each came from
  std::vector<std::string> notes;    // what was left out for want of time

  Verdict verdict() const { return planned.verdict; }
};

struct AccuracyOptions {
  CompareOptions compare;
  // Another engine is built if this one fails: noise is measured once only, and of a failure no price.
  bool provisional = false;
  double seconds = 4;  // no further sample, and no further reference, is begun after that
  uint64_t seed = 1;
  ExceededBounds exceeded_bounds;  // as in ComparisonJob
  // Of other engines of the model, to be used and added to; null: none.
  PromisedTraces* promised = nullptr;
};

// Random inputs that suit the model, of the sizes that the first profile is tuned at.
std::vector<Sample> drawn_samples(const Model& model, const std::vector<ShapeProfile>& profiles,
                                  uint64_t seed);

// Runs the samples, or drawn_samples() if there are none. `model` is what the engine was built from. Throws
// as the engine and the data do.
AccuracyReport accuracy_verdict(const std::shared_ptr<Engine>& engine, const Model& model,
                                const std::vector<Sample>& samples = {}, const AccuracyOptions& options = {});

}  // namespace vernier
