// The one verdict on an engine, whoever built it: it is run on samples and compared with the reference that
// rounds as its plan does. What differs is judged by rounding noise, by the bounds that follow from what its
// kernels promise, and, where these are to excuse anything, node by node on the inputs that it read itself.
#pragma once

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/engine/certificate.h"
#include "vernier/engine/engine.h"
#include "vernier/engine/planned_runner.h"

namespace vernier {

struct ProofOptions {
  CompareOptions compare;
  // Another engine is built if this one fails: noise is measured once only, nothing but it excuses a
  // difference, and of a failure there is no price.
  bool provisional = false;
  bool prices = true;  // whether outputs are compared with the model as declared and without rounding, too
  double seconds = 4;  // no further sample, no bound and no further reference is begun after that
  uint64_t seed = 1;
  // Holds traces of other engines of the model, to be used and added to; null: none.
  PromisedTraces* promised = nullptr;
};

// Random inputs that suit the model, of the sizes that the first profile is tuned at.
std::vector<Sample> drawn_samples(const Model& model, const std::vector<ShapeProfile>& profiles,
                                  uint64_t seed);

// Runs the samples, or drawn_samples() if there are none. `model` is what the engine was built from. Throws
// as the engine and the data do.
Certificate prove(const std::shared_ptr<const Engine>& engine, const Model& model,
                  const std::vector<Sample>& samples = {}, const ProofOptions& options = {});

}  // namespace vernier
