// How far an engine is from what is right, on given samples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/exec/runner.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct Measured {
  double relative_l2 = 0;  // of the output that is farthest off; infinite where one has NaN or Inf alone
  bool passes = false;
  std::string trouble;  // why a run failed; empty: none did
};

class Evaluator {
 public:
  // The right outputs are those that `against` makes; each sample is run once. All outlive this.
  Evaluator(const Model& model, Runner& against, CompareOptions options, std::vector<Sample> samples,
            Stopwatch& watch);
  ~Evaluator();

  const std::vector<Sample>& samples() const { return samples_; }
  // All samples so many times in turn; the worst run counts.
  Measured measure(Runner& runner, size_t times = 1);

 private:
  class Remembered;

  const Model& model_;
  std::unique_ptr<Remembered> against_;
  CompareOptions options_;
  std::vector<Sample> samples_;
  Stopwatch& watch_;
};

// How much longer a run of `after` takes than one of `before`, in percent, both timed in turn. By the clocks
// of the engines where these have one, else by that of whoever waits for the answer. Nothing where either
// fails.
std::optional<double> cost_percent(Runner& before, Runner& after, const NamedData& inputs, double seconds);

// Samples on which repairs are verified: other ones than those that they are chosen on.
struct HeldOut {
  std::vector<Sample> samples;
  std::string origin;  // for people: "3 other samples", "2 variations of sample 0"
};

// The samples beside `chosen`, at most four of them; where there are fewer than two, random ones of another
// seed that `drawn` gives, or else variations of the chosen one, so that what is special about it stays.
HeldOut held_out_samples(const std::vector<Sample>& kept, size_t chosen, DataSource* drawn, uint64_t seed);

// The sample with every number moved by up to two percent; tensors of whole numbers stay.
Sample variation(const Sample& sample, uint64_t seed);

// How far the outputs of a rewritten model are from those of the model, in relative L2, on the sample where
// they are farthest: by the reference that never rounds or by the one that rounds as the models declare,
// whichever is nearer, since a rewrite may write out a rounding, or take one away. Outputs beyond those of
// the model do not count. Infinite where one is missing or has other sizes, or NaN or Inf that the other has
// not. Throws what the reference throws.
double distance_in_meaning(const Model& model, const Model& rewritten, const std::vector<Sample>& samples);

}  // namespace vernier
