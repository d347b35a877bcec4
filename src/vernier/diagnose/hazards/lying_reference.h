// B16: an engine that another one is compared with is the one that is wrong.
#pragma once

#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/experiments/stopwatch.h"

namespace vernier {

struct LyingReferenceJob {
  const Model& model;
  const DiagnosedRunner& engine;  // that was taken for right
  const NamedData& inputs;
  const NamedData& other;    // inputs of a run before that
  const NamedData& right;    // outputs of the engine that was taken for right, where nobody looks inside
  const NamedData& outputs;  // of the engine that is diagnosed
  uint64_t seed = 1;
};

// Where and why its nodes make other than they should of what they read, as culprits of class B16; nothing if
// it is sound.
std::vector<Culprit> lying_reference(const LyingReferenceJob& job, Stopwatch& watch);

}  // namespace vernier
