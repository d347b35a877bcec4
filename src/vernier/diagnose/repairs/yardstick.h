// How far an engine is from what is right, on given samples.
#pragma once

#include <optional>

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/exec/runner.h"

namespace vernier {

struct Measured {
  double relative_l2 = 0;  // of the output that is farthest off; infinite where one has NaN or Inf alone
  bool passes = false;
  std::string trouble;  // why a run failed; empty: none did
};

class Yardstick {
 public:
  // What is right is what `against` makes; each sample is run once. All outlive this.
  Yardstick(const Model& model, Runner& against, CompareOptions options, std::vector<Sample> samples,
            Stopwatch& watch);
  ~Yardstick();

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

}  // namespace vernier
