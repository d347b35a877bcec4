// Measures what rounding noise does to the reference, where a comparison fails. Internal to run.
#pragma once

#include <optional>
#include <set>

#include "vernier/compare/compare.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

// How far each value moved between a run and one with rounding noise: the floor below which differences mean
// nothing.
std::map<std::string, NoiseFloor> noise_floor(const Trace& reference, const Trace& noisy);

class MeasuredNoise {
 public:
  // The job outlives this.
  explicit MeasuredNoise(const ComparisonJob& job) : job_(job) {}

  // Forgets what is known of another sample.
  void begin(size_t sample);
  // One more run of the reference with noise, which shows `taps`, the job's among them; `decided` are values
  // that tell how decisions came out. False if there is no more to learn for what fails in `so_far`: enough
  // runs, or noise cannot decide it.
  bool measure(const Sample& sample, const Trace& reference, const std::vector<std::string>& taps,
               const std::set<std::string>& decided, const ComparisonResult& so_far);

  // By value, the largest move over the runs so far; a near tie that decides an order turns over in some of
  // them only.
  const std::map<std::string, NoiseFloor>& floor() const { return floor_; }
  // The same where everything is decided as without noise, be it by chance or because the reference is given
  // these decisions.
  const std::map<std::string, NoiseFloor>& floor_of_same_decisions() const { return steady_; }
  bool has_run() const { return runs_ > 0; }
  // Over all samples: the relative L2 of outputs, and why a run with noise failed, if one did.
  const std::map<std::string, double>& of_outputs() const { return of_outputs_; }
  const std::string& failure() const { return failure_; }

 private:
  const Trace& quiet(const Sample& sample, const Trace& reference, const std::vector<std::string>& taps);

  const ComparisonJob& job_;
  std::optional<size_t> sample_;
  uint64_t runs_ = 0;
  std::map<std::string, NoiseFloor> floor_, steady_;
  std::optional<Trace> quiet_;  // with what the job's taps do not show
  std::map<std::string, double> of_outputs_;
  std::string failure_;
};

}  // namespace vernier
