// Runs on other inputs, for causes that one run says too little of.
#pragma once

#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// Holds what an engine read and made at a flagged node in one run; undefined where it is so in the flagged
// node.
struct Observation {
  std::vector<Tensor> inputs, made;
};

class FurtherRuns {
 public:
  // `samples` are inputs to begin with; where they do not suffice, the elements of the last one come in
  // another order, by the seed. All outlive this.
  FurtherRuns(EngineUnderTest& tested, std::vector<NamedData> samples, uint64_t seed, Stopwatch& watch)
      : tested_(tested), samples_(std::move(samples)), seed_(seed), watch_(watch) {}

  // So many, of the sizes that the flagged node has; fewer where the engine cannot show it so often, or it
  // would take too long: there are more flagged nodes, which need time, too.
  std::vector<Observation> at(const FlaggedNode& flagged, size_t most);

 private:
  NamedData inputs(size_t run) const;
  std::optional<Observation> observed(const FlaggedNode& flagged, const NamedData& inputs);

  EngineUnderTest& tested_;
  std::vector<NamedData> samples_;
  uint64_t seed_;
  Stopwatch& watch_;
  double spent_ = 0;  // seconds
};

}  // namespace vernier
