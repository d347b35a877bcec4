// Runs on other inputs, for causes that one run says too little of.
#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/experiments/suspect.h"
#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

// What an engine read and made at a suspect in one run; undefined where it is so in the suspect.
struct Observation {
  std::vector<Tensor> inputs, made;
};

class FurtherRuns {
 public:
  // `samples` are inputs to begin with; where they do not suffice, the elements of the last one come in
  // another order, by the seed. All outlive this.
  FurtherRuns(Subject& subject, std::vector<NamedData> samples, uint64_t seed, Stopwatch& watch)
      : subject_(subject), samples_(std::move(samples)), seed_(seed), watch_(watch) {}

  // So many, of the sizes that the suspect has; fewer where the engine cannot show it so often, or it would
  // take too long: there are more suspects, which need time, too.
  std::vector<Observation> at(const Suspect& suspect, size_t most);

 private:
  NamedData inputs(size_t run) const;
  std::optional<Observation> observed(const Suspect& suspect, const NamedData& inputs);

  Subject& subject_;
  std::vector<NamedData> samples_;
  uint64_t seed_;
  Stopwatch& watch_;
  double spent_ = 0;  // seconds
};

}  // namespace vernier
